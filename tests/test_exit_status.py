"""The exit status of a run, by its verdict and by what it was expected to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.fidelity import INVARIANTS_BROKEN, Check, Fidelity
from trellis.command.outcome import say_summary

ENDED = Fidelity("virtual", "virtual clock", [Check(INVARIANTS_BROKEN, 1, 0, "invariants")]).reasons
LATE = ["spans lost: 3 spans, limit 0 spans"]
BROKEN = {"text": "ring_is_one_cycle", "unit": "", "trials": 2, "holds": False, "broken": []}


@pytest.mark.parametrize(
    ("of_trials", "is_broken", "status"),
    [
        ([[], []], False, 0),
        ([[], []], True, 3),
        ([ENDED, []], True, 3),
        ([ENDED, LATE], True, 1),
        ([ENDED + LATE, []], True, 1),
        ([LATE, []], False, 1),
    ],
)
def test_a_trial_that_a_broken_invariant_ended_is_not_as_expected_and_others_are_invalid(
    of_trials: list[list[str]], is_broken: bool, status: int, tmp_path: Path
) -> None:
    trials: list[dict[str, Any]] = [
        {"trial": f"chord-{seed}", "variant": "chord", "seed": seed, "valid": not reasons, "reasons": reasons}
        for seed, reasons in enumerate(of_trials, 1)
    ]
    summary = {
        "valid": all(trial["valid"] for trial in trials),
        "reasons": [reason for trial in trials for reason in trial["reasons"]],
        "trials": trials,
        "variants": [{"variant": "chord", "values": {}, "measures": {}}],
        "expectations": [BROKEN] if is_broken else [],
    }
    run = RunDirectory(tmp_path)
    run.summary.write_text(json.dumps(summary))
    assert say_summary(run) == status
