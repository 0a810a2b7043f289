"""The section of the report on links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.charts.chart import LineChart
from analysis.charts.results import Results
from analysis.contract.figures import Rows
from analysis.report.figures_links import LINKS_IN_TIME
from analysis.report.link_section import LINKS
from emulator.experiment.run.directory import RunDirectory

ROW: dict[str, Any] = {
    "class": "", "way": "up", "peers": 200, "bit_s": 2_000_000, "load": 0.5, "load_max": 0.9,
    "wait_ms": 2.0, "wait_p99_ms": 9.0, "wait_max_ms": 10.0, "drops": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "shown"),
    [({"achieved": 1_990_000.0}, "1.99 ± 0 Mbit/s"), ({"achieved": None}, ""), ({}, "")],
    ids=["measured", "not measured", "of an earlier version"],
)
def test_the_rate_that_was_achieved_stands_beside_the_rate(
    make_run: Callable[..., RunDirectory], more: dict[str, float | None], shown: str
) -> None:
    run = make_run()
    for trial in ("vitis.friends=4-1", "vitis.friends=4-2"):
        folder = run.tables / "link_load" / f"trial={trial.replace('=', '%3D')}"
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist([ROW | more]), folder / "part-00000.parquet")
    _, table = LINKS.write(Results.read(run))
    assert isinstance(table, Rows)
    assert table.columns[3:5] == ("Rate", "Achieved")
    rate, achieved = (
        cell.replace("\u2009", " ").replace("\N{NO-BREAK SPACE}", " ") for cell in table.rows[0][3:5]
    )
    assert (rate, achieved) == ("2 Mbit/s", shown)


def test_load_and_waits_are_drawn_in_time_by_class_and_way(make_run: Callable[..., RunDirectory]) -> None:
    run = make_run()
    for trial, more in (("vitis.friends=4-1", 0.0), ("vitis.friends=4-2", 0.2)):
        folder = run.tables / "link_series" / f"trial={trial.replace('=', '%3D')}"
        folder.mkdir(parents=True)
        rows = [
            {
                "class": "home", "way": way, "start_s": 40.0 + 5 * index, "end_s": 45.0 + 5 * index,
                "load": load + more, "wait_ms": wait, "wait_p99_ms": wait and 4 * wait,
                "drops": index if way == "up" else 0,
            }
            for way, load in (("up", 0.5), ("down", 0.1))
            for index, wait in enumerate((3.0, None, 1.0))
        ]  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows), folder / "part-00000.parquet")
    charts = {
        chart.name: chart for chart in LINKS_IN_TIME.draw(Results.read(run)) if isinstance(chart, LineChart)
    }
    assert list(charts) == ["time-link-load", "time-link-wait", "time-link-wait-p99", "time-link-drops"]
    load, wait, p99, drops = ({each.label: each.points for each in chart.lines} for chart in charts.values())
    assert [label.split(": ")[1] for label in load] == ["home up", "home down"]
    up = next(iter(load.values()))
    assert [(point.x, round(point.y or 0, 6)) for point in up] == [(42.5, 0.6), (47.5, 0.6), (52.5, 0.6)]
    assert [(point.x, point.y) for point in next(iter(wait.values()))] == [(42.5, 3), (52.5, 1)]
    assert [(point.x, point.y) for point in next(iter(p99.values()))] == [(42.5, 12), (52.5, 4)]
    assert [label.split(": ")[1] for label in drops] == ["home up"]
    assert [(point.x, point.y) for point in next(iter(drops.values()))] == [(42.5, 0), (47.5, 1), (52.5, 2)]
    assert [mark.text for mark in charts["time-link-load"].moments] == ["flash crowd"]
