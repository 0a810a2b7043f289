"""A count of what a trial asks for is 0, and not unmeasured, where there was none of it."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.contract.trials import TrialRecord
from analysis.measures.asked_counts import COUNTS, set_zeros
from emulator.experiment.file.spec import TrialSpec

SPEC = {"system": {"name": "chord"}, "peers": 10, "workload": {"lookups": {"rate": 1}}}
ASKS: dict[str, dict[str, Any]] = {
    "attacked_messages": {"attackers": {"share": 0.2, "behaviour": "black-hole"}},
    "link_drops": {"network": {"bandwidth": {"up": "1 Mbit/s", "down": "1 Mbit/s"}}},
    "processing_drops": {"processing": {"message": "50 us"}},
}


def record(name: str, more: dict[str, Any]) -> TrialRecord:
    return TrialRecord(name, "v", {}, TrialSpec.model_validate(SPEC | more), None, {}, {})  # type: ignore[arg-type]


def test_each_count_is_tried() -> None:
    assert ASKS.keys() == COUNTS.keys()


@pytest.mark.parametrize("name", ASKS)
def test_a_trial_that_asks_has_0_and_another_one_no_value(name: str) -> None:
    values: dict[str, dict[str, float | None]] = {
        "none": dict.fromkeys(COUNTS),
        "some": dict.fromkeys(COUNTS, 3.0),
        "not asked": dict.fromkeys(COUNTS),
        "not measured": {},
    }
    asks = [record(trial, ASKS[name]) for trial in ("none", "some", "not measured")]
    set_zeros(values, [*asks, record("not asked", {}), record("without values", {})])
    assert values == {
        "none": dict.fromkeys(COUNTS) | {name: 0.0},
        "some": dict.fromkeys(COUNTS, 3.0),
        "not asked": dict.fromkeys(COUNTS),
        "not measured": {},
    }
