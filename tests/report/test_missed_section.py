"""The section of the report on deliveries that were missed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.charts.results import Results
from analysis.contract.figures import Rows
from analysis.report.missed_section import MISSED
from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory

OF = {"publisher": 10, "expected": True, "delay_ms": None}


def put(run: RunDirectory, table: str, trial: str, rows: Sequence[Mapping[str, Any]]) -> None:
    folder = run.tables / table / f"trial={trial.replace('=', '%3D')}"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), folder / "part-00000.parquet")


def delivery(event: int, at: float, peer: int, delivered: bool) -> dict[str, Any]:
    return OF | {"event": event, "published_s": at, "peer": peer, "delivered": delivered}


def shown(run: RunDirectory) -> list[list[str]]:
    _, table = MISSED.write(Results.read(run))
    assert isinstance(table, Rows)
    assert len(table.columns) == 5
    return [[" ".join(cell.split()) for cell in row] for row in table.rows]


def whole(run: RunDirectory) -> None:
    """Let nothing be missed in any trial."""
    for trial in json.loads(run.summary.read_text())["trials"]:
        put(run, "deliveries", trial["trial"], [delivery(5, 50.0, 11, True)])


def test_missed_deliveries_are_told_by_fault_and_by_whether_a_copy_arrived_anywhere(
    make_run: Callable[..., RunDirectory],
) -> None:
    run = make_run()
    whole(run)
    deliveries = [
        *(delivery(1, 45.0, peer, peer == 11) for peer in (11, 12, 13)),
        *(delivery(2, 50.0, peer, False) for peer in (11, 12, 13)),
        delivery(3, 55.0, 11, False),
        delivery(3, 55.0, 10, True),
        delivery(4, 59.0, 11, False),
    ]
    faults = [{"name": "split", "at": "50 s", "for": "5 s"}, {"name": "dark", "at": "58 s"}]
    with run.experiment.open("a") as file:
        file.write(f"faults: {json.dumps(faults)}\n")
    for seed in (1, 2):
        trial = f"rvr.friends=4-{seed}"
        put(run, "deliveries", trial, deliveries)
        handled = {"publisher": 10, "copies": 1}
        put(run, "handled", trial, [handled | {"event": 3, "peer": peer} for peer in (10, 99)])
    assert shown(run) == [
        ["rvr, friends 4", "during split", "3.00 ± 0", "0 ± 0", "3.00 ± 0"],
        ["rvr, friends 4", "during flash crowd", "1.00 ± 0", "1.00 ± 0", "0 ± 0"],
        ["rvr, friends 4", "from dark on", "1.00 ± 0", "0 ± 0", "1.00 ± 0"],
        ["rvr, friends 4", "otherwise", "2.00 ± 0", "2.00 ± 0", "0 ± 0"],
    ]
    assert "<h2>Missed deliveries</h2>" in write_report(run).read_text()


def test_what_peers_missed_that_had_just_joined_stands_apart(make_run: Callable[..., RunDirectory]) -> None:
    run = make_run()
    whole(run)
    summary = json.loads(run.summary.read_text())
    trial = next(each for each in summary["trials"] if each["trial"] == "vitis.friends=4-1")
    trial["measures"] |= {
        **{"due_after_0_s": 4, "hit_ratio_after_0_s": 0.25},
        **{"due_after_2_s": 0, "hit_ratio_after_2_s": None},
        **{"due_after_5_s": 10, "hit_ratio_after_5_s": 0.8},
        **{"due_after_10_s": 7, "hit_ratio_after_10_s": 0.0},
    }
    summary["trials"] = [trial]
    run.summary.write_text(json.dumps(summary))
    assert shown(run) == [["vitis, friends 4", "joined less than 10 s before", "5", "—", "—"]]


def test_a_run_in_which_nothing_was_missed_has_no_such_section(make_run: Callable[..., RunDirectory]) -> None:
    run = make_run()
    whole(run)
    assert not list(MISSED.write(Results.read(run)))
