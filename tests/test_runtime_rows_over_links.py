"""Rows of message pools over links, loss and jitter: a trial has the telemetry that it has with messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import RunDirectory
from emulator.runtime.breaches import CHECKED
from emulator.runtime.plan_script import network_of
from emulator.runtime.virtual.event_loop import VirtualWorld
from emulator.runtime.virtual.run_virtual import run_virtual
from emulator.telemetry.otlp_files import read_records
from emulator.telemetry.recorder import Recorder

TIGHT = {"up": "300 kbit/s", "down": "120 kbit/s", "queue": "100 ms"}
CLASSES = {
    "classes": [
        {"name": "fast", "share": 0.5, "up": "700 kbit/s"},
        {"name": "slow", "share": 0.5, "up": "123 kbit/s", "down": "77 kbit/s"},
    ],
    "queue": "200 ms",
}
FAIR = {"discipline": "fair"}
PAUSE = {"name": "stopped", "at": "6 s", "for": "4 s", "pause": {"share": 0.2}}
CRASH = {"name": "gone", "at": "6 s", "for": "4 s", "crash": {"share": 0.3}}
AS_ROWS: dict[str, dict[str, Any]] = {
    "loss and jitter": {"network": {"loss": 0.05, "jitter": "20 ms"}},
    "links in order": {"network": {"bandwidth": TIGHT, "overhead": 40}},
    "links in order, crash": {"network": {"bandwidth": TIGHT}, "faults": [CRASH]},
    "links in order, pause": {"network": {"bandwidth": TIGHT}, "faults": [PAUSE]},
    "up links alone, loss": {"network": {"bandwidth": {"up": "200 kbit/s"}, "loss": 0.1}},
    "classes of links": {"network": {"bandwidth": CLASSES, "jitter": "5 ms"}},
    "fair links": {"network": {"bandwidth": TIGHT | FAIR, "overhead": 40}},
    "fair links, crash, loss": {"network": {"bandwidth": TIGHT | FAIR, "loss": 0.1}, "faults": [CRASH]},
    "fair links, pause": {"network": {"bandwidth": TIGHT | FAIR}, "faults": [PAUSE]},
    "fair up links alone": {"network": {"bandwidth": {"up": "200 kbit/s"} | FAIR, "jitter": "20 ms"}},
    "fair links of classes": {"network": {"bandwidth": CLASSES | FAIR}},
}
"""Trials in which the frequent messages of Vitis arrive as rows."""
AS_MESSAGES: dict[str, dict[str, Any]] = {
    "fair links with an awkward rate": {"network": {"bandwidth": {"up": "999999937 bit/s"} | FAIR}},
    "a rate that changes": {
        "network": {"bandwidth": TIGHT},
        "faults": [
            {"name": "slow", "at": "6 s", "for": "4 s", "links": {"share": 0.5, "bandwidth": "1 kbit/s"}}
        ],
    },
    "links with an awkward rate": {"network": {"bandwidth": {"up": "999999937 bit/s"}}},
    "kept order": {"network": {"bandwidth": TIGHT, "order": "kept"}},
    "busy peers": {"network": {"bandwidth": TIGHT}, "processing": {"message": "1 ms"}},
}
"""Trials in which they are sent as messages, because a row could not take their way."""


def trial(more: dict[str, Any]) -> TrialSpec:
    return TrialSpec.model_validate(
        {
            "system": {"name": "vitis"},
            "peers": 20,
            "workload": {
                "subscriptions": {"kind": "random", "topics": 10, "per_peer": 3, "buckets": 1},
                "publications": {"events": 20},
            },
            "churn": {"model": {"kind": "poisson", "mean_session": "10 s", "mean_gap": "3 s"}},
            "phases": {"join": "2 s", "settle": "3 s", "measure": "7 s", "drain": "2 s"},
        }
        | more
    )


def telemetry(spec: TrialSpec, folder: Path) -> tuple[list[bytes], list[Any]]:
    """Return the records of a trial's telemetry, and what its links say of their use."""
    directory = RunDirectory(folder / "run").trial("trial")
    directory.telemetry.mkdir(parents=True)
    fidelity = run_virtual(spec, draw_plan(spec), directory, lambda progress: None)
    files = sorted(directory.telemetry.iterdir())
    return [record for file in files for record in read_records(file)], fidelity.links


def passes_rows(spec: TrialSpec, folder: Path) -> bool:
    plan = draw_plan(spec)
    recorder = Recorder(folder, "virtual", experiment="e", trial="t", seed=spec.seed, start_unix_ns=0)
    try:
        return VirtualWorld(spec, plan, network_of(spec, plan), recorder)._passes_rows
    finally:
        recorder.close()


@pytest.mark.parametrize("name", AS_ROWS)
def test_rows_give_the_telemetry_of_messages(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial that is checked sends messages, one that is not sends rows."""
    spec = trial(AS_ROWS[name])
    monkeypatch.setenv(CHECKED, "1")
    messages, used = telemetry(spec, tmp_path / "messages")
    monkeypatch.setenv(CHECKED, "")
    rows, used_by_rows = telemetry(spec, tmp_path / "rows")
    assert rows == messages
    assert used_by_rows == used
    assert passes_rows(spec, tmp_path)


@pytest.mark.parametrize("name", AS_MESSAGES)
def test_what_no_row_can_pass_is_sent_as_messages(name: str, tmp_path: Path) -> None:
    assert not passes_rows(trial(AS_MESSAGES[name]), tmp_path)
