"""The section of the report on the time before, during and after faults, and the values of expectations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.charts.results import Results
from analysis.contract.figures import Rows, Text
from analysis.report.by_fault import BY_FAULT, _when
from analysis.report.expected import measured_text
from emulator.experiment.run.directory import RunDirectory

MakeRun = Callable[..., RunDirectory]
TRIALS = ("vitis.friends=4-1", "vitis.friends=4-2")
WHEN = {"before": (40.0, 80.0), "during": (80.0, 100.0), "after": (100.0, 160.0)}


def write(run: RunDirectory, table: str, rows: Sequence[Sequence[dict[str, Any]]]) -> None:
    for trial, of_trial in zip(TRIALS, rows, strict=True):
        folder = run.tables / table / f"trial={trial.replace('=', '%3D')}"
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(list(of_trial)), folder / "part-00000.parquet")


def phase(side: str, value: float | None, measure: str = "hit_ratio", **more: Any) -> dict[str, Any]:
    begins, ends = WHEN[side]
    row = {"fault": "split", "phase": side, "begins_s": begins, "ends_s": ends, "region": None}
    return row | {"measure": measure, "unit": "share", "value": value} | more


def recovery(after: float | None, looked_up: float | None = None) -> dict[str, Any]:
    before = {"hit_ratio_before": 1.0, "lookup_success_before": looked_up, "maintenance_before": 2.0}
    since = {"recovery_s": after, "lookup_recovery_s": None, "maintenance_recovery_s": None}
    return {"fault": "split", "begins_s": 80.0, "ends_s": 100.0, "quiet_until_s": 160.0} | before | since


def plain(rows: Rows) -> list[tuple[str, ...]]:
    return [
        tuple(cell.replace("\u2009", " ").replace("\N{NO-BREAK SPACE}", " ") for cell in row)
        for row in rows.rows
    ]


def of_vitis(run: RunDirectory) -> tuple[list[Rows], str]:
    """Return the tables of the section, and its texts."""
    blocks = list(BY_FAULT.write(Results.read(run)))
    texts = " ".join(block.text for block in blocks if isinstance(block, Text))
    return [block for block in blocks if isinstance(block, Rows)], texts


def test_measures_stand_before_during_and_after_a_fault_as_means_over_the_seeds(make_run: MakeRun) -> None:
    run = make_run()
    write(run, "phases", [[phase("before", 1.0), phase("during", 0.4), phase("after", None)]] * 2)
    (table,), texts = of_vitis(run)
    assert table.columns == ("Measure", "Before", "During", "After")
    ((name, *cells),) = plain(table)
    assert name.startswith("hit ratio (%), ") and cells == ["100 ± 0", "40.0 ± 0", "—"]
    assert "split: before is 40 to 80 s, during is 80 to 100 s, after is 100 to 160 s." in texts


def test_regions_have_a_table_of_their_own(make_run: MakeRun) -> None:
    run = make_run()
    rows = [phase("before", 1.0), phase("before", 0.5, region="eu"), phase("before", 7.0, "expected")]
    write(run, "phases", [rows] * 2)
    (whole, regions), _ = of_vitis(run)
    assert len(whole.rows) == 1, "the number of deliveries is neither good nor bad"
    ((name, *cells),) = plain(regions)
    assert name.endswith(", eu") and cells == ["50.0 ± 0", "—", "—"]


def test_each_fault_has_the_time_until_all_is_back_and_in_how_many_seeds_it_is_not(make_run: MakeRun) -> None:
    run = make_run()
    write(run, "phases", [[phase("before", 1.0)]] * 2)
    write(run, "recoveries", [[recovery(5.0)], [recovery(None)]])
    (back, _), _ = of_vitis(run)
    assert back.columns == ("Fault", "Ended", "Hit ratio back", "Maintenance back")
    assert plain(back)[0][1] == "100 s"
    assert plain(back)[0][2:] == ("5 s; not in 1 of 2", "not in 2 of 2")


def test_values_of_which_nothing_was_measured_before_the_first_fault_say_so(make_run: MakeRun) -> None:
    run = make_run()
    write(run, "phases", [[phase("after", 1.0)]] * 2)
    none = recovery(None) | {"hit_ratio_before": None, "maintenance_before": None}
    write(run, "recoveries", [[none]] * 2)
    tables, texts = of_vitis(run)
    assert len(tables) == 1 and "nothing was measured before the first fault" in texts


def test_a_run_whose_faults_ended_before_the_measure_phase_says_why_none_has_a_recovery(
    make_run: MakeRun,
) -> None:
    run = make_run()
    write(run, "phases", [[phase("after", 1.0)]] * 2)
    (run.tables / "recoveries").mkdir()
    assert "nothing was measured before the first fault" in of_vitis(run)[1]


def test_a_run_whose_fault_never_ends_says_nothing_of_recoveries(make_run: MakeRun) -> None:
    run = make_run()
    write(run, "phases", [[phase("before", 1.0), phase("during", 1.0)]] * 2)
    (run.tables / "recoveries").mkdir()
    assert "recovery" not in of_vitis(run)[1]


def test_the_time_at_which_a_fault_ended_is_a_range_if_it_differs_by_seed(make_run: MakeRun) -> None:
    run = make_run()
    write(run, "phases", [[phase("before", 1.0)]] * 2)
    write(run, "recoveries", [[recovery(5.0)], [recovery(5.0) | {"ends_s": 120.0}]])
    assert plain(of_vitis(run)[0][0])[0][1] == "100 s to 120 s"


@pytest.mark.parametrize("during", [None, 2.0])
def test_a_fault_too_short_for_maintenance_says_so_below_its_table(
    make_run: MakeRun, during: float | None
) -> None:
    run = make_run()
    name = "maintenance_messages_per_s"
    write(run, "phases", [[phase("before", 1.0, name), phase("during", during, name)]] * 2)
    blocks = list(BY_FAULT.write(Results.read(run)))
    below = blocks[next(at for at, block in enumerate(blocks) if isinstance(block, Rows)) + 1 :]
    assert [isinstance(block, Text) and "whole intervals" in block.text for block in below] == (
        [True] if during is None else []
    )


def test_times_that_differ_by_seed_are_not_told_as_those_of_one(make_run: MakeRun) -> None:
    run = make_run()
    write(run, "phases", [[phase("before", 1.0)], [phase("before", 1.0) | {"ends_s": 90.0}]])
    assert "split: its times differ by seed." in of_vitis(run)[1]


@pytest.mark.parametrize(
    ("variants", "told"),
    [
        (2, "its times differ by variant; of v0, before is 40 to 80 s; of v1, before is 40 to 81 s"),
        (9, "its times differ by variant"),
    ],
)
def test_times_that_differ_by_variant_are_told_of_each_if_they_are_few(variants: int, told: str) -> None:
    rows = [(f"v{index}", phase("before", 1.0) | {"ends_s": 80.0 + index}) for index in range(variants)]
    assert _when(rows) == told
    assert _when([(label, phase("before", 1.0)) for label, _ in rows]) == "before is 40 to 80 s"


def test_a_run_without_faults_has_no_such_section(make_run: MakeRun) -> None:
    assert of_vitis(make_run()) == ([], "")


@pytest.mark.parametrize(
    ("measured", "broken", "told"),
    [
        ({"a": 0.5}, 0, "50 %"),
        ({"a": 0.5, "b": 1.0, "c": 0.9}, 0, "50 to 100 %, mean 80"),
        ({"a": 0.5, "b": 1.0, "c": None}, 1, "50 to 100 %, mean 75"),
        ({"a": 0.5, "b": 0.6}, 2, ""),
        ({}, 0, ""),
    ],
)
def test_an_expectation_that_holds_tells_what_was_measured(
    measured: dict[str, float | None], broken: int, told: str
) -> None:
    outcome = {"unit": "share", "measured": measured, "broken": [{}] * broken, "trials": len(measured) or 1}
    assert measured_text(outcome).replace("\N{NO-BREAK SPACE}", " ") == told
