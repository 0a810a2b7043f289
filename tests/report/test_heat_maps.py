"""Heat maps of sweeps: when there are some, and what their cells tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sweep_run import figures, sweep_run

from analysis.charts.bars import BarChart
from analysis.charts.heat_map import HeatMap, heat_map
from analysis.charts.results import Results
from analysis.report.report import write_report

SYSTEMS = ["vitis", "rvr"]
MODELS = ["static", "poisson", "skype"]


def test_two_keys_of_numbers_are_a_heat_map_for_each_system(tmp_path: Path) -> None:
    vary = {"system.name": SYSTEMS, "peers": [100, 200, 300, 400, 500], "network.loss": [0.0, 0.1, 0.2, 0.3]}
    found = figures(Results.read(sweep_run(tmp_path / "run", vary)))["sweep-hit_ratio"]
    assert isinstance(found, HeatMap)
    assert (found.row_key, found.column_key, found.columns) == (
        "peers",
        "loss",
        ["0 %", "10 %", "20 %", "30 %"],
    )
    assert [grid.title for grid in found.grids] == SYSTEMS
    rows = dict(found.grids[1].rows)
    assert list(rows) == ["100", "200", "300", "400", "500"]
    assert (rows["500"][3].text, rows["500"][3].level) == ("100", 8)
    assert found.grids[0].rows[0][1][0].level == 0


def test_a_heat_map_of_a_large_sweep_does_not_say_that_only_some_variants_are_drawn(tmp_path: Path) -> None:
    losses = [0.0, 0.1, 0.2, 0.3, 0.4]
    vary = {"system.name": SYSTEMS, "peers": list(range(100, 600, 100)), "network.loss": losses}
    found = figures(Results.read(sweep_run(tmp_path / "run", vary)))["sweep-hit_ratio"]
    assert isinstance(found, HeatMap)
    assert sum(len(cells) for grid in found.grids for _, cells in grid.rows) == 50
    assert "are drawn" not in found.about
    assert found.about.endswith("better. Cells are means over the seeds.")


def crossed(values: Mapping[str, Any]) -> bool:
    return values["network.order"] == "sta" or values["churn.model.kind"] == "static"


@pytest.mark.parametrize(
    ("is_had", "form"),
    [
        (lambda values: values["churn.model.kind"] == "static", BarChart),
        (lambda values: values["network.order"] == "sta", BarChart),
        (lambda values: values["network.order"] == values["churn.model.kind"][:3], BarChart),
        (crossed, HeatMap),
    ],
)
def test_a_heat_map_needs_several_rows_and_columns_and_half_of_its_cells(
    tmp_path: Path, is_had: Callable[[Mapping[str, Any]], bool], form: type
) -> None:
    vary = {"network.order": ["sta", "poi", "sky"], "churn.model.kind": MODELS}
    run = sweep_run(tmp_path / "run", vary)
    summary = json.loads(run.summary.read_text())
    for variant in summary["variants"]:
        if not is_had(variant["values"]):
            del variant["measures"]["hit_ratio"]
    run.summary.write_text(json.dumps(summary))
    found = figures(Results.read(run))
    assert isinstance(found["sweep-overhead"], HeatMap)
    assert type(found["sweep-hit_ratio"]) is form


def test_a_combination_that_was_not_run_is_an_empty_cell() -> None:
    found = heat_map(
        "n", "t", "a", "", ("x", "y"), {("", "1", "1"): (2.0, None), ("", "2", "2"): (2.0, 0.25)}
    )
    assert found is not None
    assert [[cell.level for cell in cells] for _, cells in found.grids[0].rows] == [[0, None], [None, 0]]
    assert [cells[i].text for i, (_, cells) in enumerate(found.grids[0].rows)] == [
        "2",
        "2.00\u2009±\u20090.25",
    ]
    assert heat_map("n", "t", "a", "", ("x", "y"), {}) is None


def test_heat_maps_and_extremes_have_the_intervals_of_several_seeds(tmp_path: Path) -> None:
    losses = [0.0, 0.1, 0.2, 0.3, 0.4]
    vary = {"system.name": SYSTEMS, "peers": list(range(100, 600, 100)), "network.loss": losses}
    run = sweep_run(tmp_path / "run", vary, seeds=3)
    summary = json.loads(run.summary.read_text())
    for variant in summary["variants"][::2]:
        variant["measures"]["hit_ratio"]["n"] = 2
    run.summary.write_text(json.dumps(summary))
    found = figures(Results.read(run))["sweep-hit_ratio"]
    assert isinstance(found, HeatMap)
    assert found.about.endswith("with the half width of their 95 % confidence interval.")
    texts = [cell.text for grid in found.grids for _, cells in grid.rows for cell in cells]
    assert all("±" in text for text in texts)
    page = write_report(run).read_text()
    extremes = page[page.index('<tr data-measure="hit_ratio"') :].partition("</tr>")[0]
    assert extremes.count("±") == 3
