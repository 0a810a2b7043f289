"""Sweeps of many variants: what a page shows by what was varied, and that it stays small."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sweep_run import MEASURES, figures, sweep_run

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.panels import Panels
from analysis.charts.results import Results, variant_labels
from analysis.measures.catalogue import own_measures
from analysis.report.by_what_is_varied import independent_keys
from analysis.report.drawn_variants import drawn_variants
from analysis.report.measures_section import measure_groups, measures_shown
from analysis.report.outcome import leading
from analysis.report.report import write_report
from analysis.report.shown import Shown

SYSTEMS = ["vitis", "rvr"]
OF_SYSTEMS = {"system.name": SYSTEMS}
MANY = list(dict.fromkeys([*MEASURES, *own_measures()]))[:72]
"""These are as many measures as a run under churn and faults has."""
MODELS = ["static", "poisson", "skype", "gnutella", "weibull", "pareto", "avt"]


def test_two_systems_by_seven_models_are_seven_panels_with_a_colour_for_each_system(tmp_path: Path) -> None:
    run = sweep_run(tmp_path / "run", {"system.name": SYSTEMS, "churn.model.kind": MODELS}, seeds=3)
    found = figures(Results.read(run))
    many = found["time-hit"]
    assert isinstance(many, Panels)
    assert [panel.title for panel in many.charts] == MODELS
    assert [style.label for style in many.legend] == SYSTEMS
    for panel in many.charts:
        assert [(one.label, one.style, one.shown) for one in panel.series] == [
            ("vitis", 0, True),
            ("rvr", 1, True),
        ]
        assert (panel.y.low, panel.y.high) == (many.charts[0].y.low, many.charts[0].y.high)
    bars = found["sweep-hit_ratio"]
    assert isinstance(bars, BarChart)
    assert [row.segments[0].style for row in bars.rows] == [0] * 7 + [1] * 7
    assert bars.rows[0].whisker is not None


def test_eight_systems_alone_are_one_drawing_with_all_lines_to_switch(tmp_path: Path) -> None:
    systems = [f"system{number}" for number in range(8)]
    run = sweep_run(tmp_path / "run", {"system.name": systems})
    found = figures(Results.read(run))["time-hit"]
    assert isinstance(found, LineChart)
    assert [(one.label, one.style, one.shown) for one in found.series] == [
        (system, number, True) for number, system in enumerate(systems)
    ]
    tags = sorted(one.tag_at[1] for one in found.series)
    assert all(below - above >= 14 for above, below in pairwise(tags))
    page = write_report(run).read_text()
    drawn = page[page.index('id="time-hit"') :].partition("</figure>")[0]
    assert drawn.count('<button type="button"') == drawn.count('aria-pressed="true"') == 8


@pytest.mark.parametrize(
    "vary",
    [
        {"system.name": [f"system{number}" for number in range(8)]},
        {"system.name": [f"system{number}" for number in range(9)]},
        {"system.name": SYSTEMS, "churn.model.kind": MODELS},
        {"peers": list(range(100, 900, 100))},
    ],
)
def test_no_heading_and_no_name_of_a_drawing_is_empty(tmp_path: Path, vary: dict[str, Sequence[Any]]) -> None:
    run = sweep_run(tmp_path / "run", vary)
    disrupted(Results.read(run), ["loss", "fault split"])
    page = write_report(run).read_text()
    assert not re.findall(r"<(h[1-6]|caption|legend|summary)[^>]*>\s*</\1>", page)
    assert not re.findall(r'aria-label="[^"]*, \.', page)


def test_causes_of_disruptions_have_the_panels_where_only_systems_differ(tmp_path: Path) -> None:
    systems = [f"system{number}" for number in range(7)]
    results = Results.read(sweep_run(tmp_path / "run", {"system.name": systems}))
    disrupted(results, ["loss", "fault split"])
    many = figures(results)["time-disruptions"]
    assert isinstance(many, Panels)
    assert {panel.title for panel in many.charts} == {"loss", "fault split"}
    assert [style.label for style in many.legend] == systems


def disrupted(results: Results, causes: Sequence[str]) -> None:
    """Write a table of messages of each of these causes in each trial."""
    for trial in results.trials:
        folder = results.run.tables / "disruptions" / f"trial={trial['trial']}"
        folder.mkdir(parents=True)
        rows = [
            {"cause": cause, "start_s": 5.0 * i, "end_s": 5.0 * (i + 1), "messages": i + 1, "bytes": 9}
            for cause in causes
            for i in range(3)
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / "part-00000.parquet")


def test_few_causes_of_disruptions_have_the_dashes_of_panels(tmp_path: Path) -> None:
    results = Results.read(sweep_run(tmp_path / "run", {"system.name": SYSTEMS, "churn.model.kind": MODELS}))
    disrupted(results, ["loss", "fault split"])
    many = figures(results)["time-disruptions"]
    assert isinstance(many, Panels)
    assert [panel.title for panel in many.charts] == MODELS
    assert {(style.label, style.colour, style.dash) for style in many.legend} == {
        ("vitis: fault split", 0, 1),
        ("vitis: loss", 0, 0),
        ("rvr: fault split", 1, 1),
        ("rvr: loss", 1, 0),
    }


def test_many_causes_of_disruptions_have_panels_of_their_own(tmp_path: Path) -> None:
    results = Results.read(
        sweep_run(tmp_path / "run", {"system.name": SYSTEMS, "churn.model.kind": MODELS[:4]})
    )
    disrupted(results, [f"fault f: {i}" for i in range(5)])
    many = figures(results)["time-disruptions"]
    assert isinstance(many, Panels)
    titles = {f"{model}: fault f: {i}" for model in MODELS[:4] for i in range(5)}
    assert {panel.title for panel in many.charts} == titles
    assert [style.label for style in many.legend] == SYSTEMS


def test_a_second_key_with_few_values_has_the_dashes(tmp_path: Path) -> None:
    vary = {"system.name": SYSTEMS, "churn.model.kind": MODELS, "network.loss": [0.0, 0.1]}
    found = figures(Results.read(sweep_run(tmp_path / "run", vary)))["time-hit"]
    assert isinstance(found, Panels)
    assert len(found.charts) == 7
    assert {(style.label, style.colour, style.dash) for style in found.legend} == {
        ("vitis, loss 0 %", 0, 0),
        ("vitis, loss 10 %", 0, 1),
        ("rvr, loss 0 %", 1, 0),
        ("rvr, loss 10 %", 1, 1),
    }


def test_the_values_of_panels_are_those_of_the_whole_chart(tmp_path: Path) -> None:
    run = sweep_run(tmp_path / "run", {"system.name": SYSTEMS, "churn.model.kind": MODELS})
    results = Results.read(run)
    whole = next(chart for chart in Shown.by(results).charts["time"] if chart.name == "time-hit")
    panels = figures(results)["time-hit"]
    assert isinstance(whole, LineChart)
    assert [one.label for one in whole.series][:2] == ["vitis, static", "vitis, poisson"]
    second = panels.charts[1]
    page = write_report(run).read_text()
    assert '<th scope="col"></th>' not in page
    assert [column.values[0] for column in second.columns] == [column.values[1] for column in whole.columns]
    assert second.lines[0].points == whole.lines[1].points


def test_of_a_large_sweep_curves_show_the_best_the_worst_and_four_between(tmp_path: Path) -> None:
    run = sweep_run(tmp_path / "run", {"peers": list(range(100, 300))})
    results = Results.read(run)
    assert drawn_variants(results).names == ["v0", "v40", "v80", "v120", "v160", "v199"]
    chart = figures(results)["time-hit"]
    assert isinstance(chart, LineChart)
    assert len(chart.series) == 6
    assert "Of 200 variants 6 are drawn, from the best to the worst by hit ratio" in chart.about


@pytest.mark.parametrize(("losses", "seeds", "measures"), [(5, 1, MEASURES), (10, 3, MANY)])
def test_the_page_of_a_large_sweep_is_below_three_kilobytes_a_variant(
    tmp_path: Path, losses: int, seeds: int, measures: Sequence[str]
) -> None:
    vary = {
        "system.name": [*SYSTEMS, "scribe", "opt"],
        "network.loss": [i / 100 for i in range(losses)],
        "peers": list(range(100, 1100, 100)),
    }
    page = write_report(sweep_run(tmp_path / "run", vary, seeds, measures)).read_text()
    assert len(page.encode()) < 3e3 * 40 * losses
    assert page.count("<tr") < 3000
    assert f"Of {40 * losses:,} variants the ones with the lowest, the median and the highest" in page


def test_many_variants_are_rows_of_measures_and_few_are_columns(tmp_path: Path) -> None:
    many = Results.read(sweep_run(tmp_path / "many", {"system.name": SYSTEMS, "churn.model.kind": MODELS}))
    found = measures_shown(many, measure_groups(many))
    assert found.layout == "rows"
    assert max(len(table) for _, tables in found.chunks for table in tables) <= 7
    few = Results.read(sweep_run(tmp_path / "few", {"system.name": SYSTEMS}))
    assert measures_shown(few, measure_groups(few)).layout == "columns"


def test_measures_that_say_nothing_are_left_out_or_only_named(tmp_path: Path) -> None:
    page = write_report(sweep_run(tmp_path / "run", {"system.name": SYSTEMS})).read_text()
    assert "Relay load of relays and servers" not in page
    assert "0 in every variant: Repeated deliveries." in page


def test_sentences_and_four_figures_come_first_and_measures_last(tmp_path: Path) -> None:
    run = sweep_run(tmp_path / "run", {"system.name": SYSTEMS, "peers": [100, 200]}, seeds=2)
    page = write_report(run).read_text()
    ids = re.findall(r'<section id="([^"]+)"', page)
    assert (ids[0], ids[-1]) == ("outcome", "measures")
    head = page[page.index('id="outcome"') : page.index('id="run"')]
    assert "Hit ratio is between 92.5\N{NO-BREAK SPACE}% (vitis, peers 100) and 100" in head
    assert re.search(r"rvr beside vitis in 2 settings \(2 seeds, [^)]+\): Hit ratio \w+ in all", head)
    names = re.findall(r'<figure class="chart[^"]*" id="([^"]+)"', head)
    assert names == ["sweep-hit_ratio", "time-hit", "overhead-nodes", "sweep-overhead"]
    every = re.findall(r'<figure class="chart[^"]*" id="([^"]+)"', page)
    assert len(every) == len(set(every))


def test_a_figure_without_any_difference_is_not_in_the_head(tmp_path: Path) -> None:
    results = Results.read(sweep_run(tmp_path / "run", {"system.name": SYSTEMS}))
    assert "time-peers" in [chart.name for chart in Shown.by(results).charts["time"]]
    assert "time-peers" not in leading(Shown.by(results).charts)


def test_peers_that_are_up_come_into_the_head_after_all_other_figures(tmp_path: Path) -> None:
    run = sweep_run(tmp_path / "run", {"system.name": SYSTEMS})
    for number, file in enumerate(sorted((run.tables / "series").rglob("*.parquet"))):
        rows = pq.read_table(file, partitioning=None).to_pylist()
        pq.write_table(pa.Table.from_pylist([row | {"peers_up": 100 + number} for row in rows]), file)
    charts = Shown.by(Results.read(run)).charts
    assert len(leading(charts)) == 4 and "time-peers" not in leading(charts)
    few = {"variants": charts["variants"][:1], "time": charts["time"][:2], "spread": charts["spread"][:1]}
    assert "time-peers" in [chart.name for chart in few["time"]]
    assert leading(few)[-1] == "time-peers"  # type: ignore[arg-type]


def variants(*values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"variant": f"v{number}", "values": each} for number, each in enumerate(values)]


def test_names_of_variants_say_which_value_is_which() -> None:
    session, absence = "churn.model.session", "churn.model.absence"
    of = variants(
        {"system.name": "vitis", session: "30 s", absence: "20 s", "churn.crash": None},
        {"system.name": "rvr", session: "20 s", absence: "30 s", "churn.crash": True},
    )
    assert list(variant_labels(of).values()) == [
        "vitis, session 30 s, absence 20 s, no crash",
        "rvr, session 20 s, absence 30 s, crash",
    ]
    of = variants(
        {"network.up.limit": 1, "network.down.limit": 2}, {"network.up.limit": 2, "network.down.limit": 1}
    )
    assert list(variant_labels(of).values()) == ["up limit 1, down limit 2", "up limit 2, down limit 1"]
    none, some = {"system.parameters": {}}, {"system.parameters": {"friends": 8}}
    of = variants({"system.name": "vitis", **none}, {"system.name": "rvr", **some})
    assert list(variant_labels(of).values()) == ["vitis", "rvr, friends 8"]
    split, dark = {"name": "split", "at": "25 s"}, {"name": "dark", "at": "40 s"}
    of = variants({"faults": []}, {"faults": [split]}, {"faults": [split, dark]})
    assert list(variant_labels(of).values()) == ["no faults", "split", "split and dark"]


def test_variants_without_churn_are_named_by_that() -> None:
    churns: list[dict[str, object]] = [{}, {"model": {"kind": "skype"}}]
    of = [{"variant": f"v{number}", "values": {"churn": churn}} for number, churn in enumerate(churns)]
    assert list(variant_labels(of).values()) == ["no churn", "skype"]


@pytest.mark.parametrize(
    ("faults", "labels"),
    [
        (({"partition": {"share": 0.5}}, {"links": {"loss": "20 %"}}), ["cut (partition)", "cut (links)"]),
        (({"links": {"loss": "2 %"}}, {"links": {"loss": "20 %"}}), ["cut (loss 2 %)", "cut (loss 20 %)"]),
        (({"at": "25 s", "for": "5 s"}, {"at": "30 s", "for": "5 s"}), ["cut (at 25 s)", "cut (at 30 s)"]),
        (({"crash": {"region": "us"}}, {"crash": {"region": "eu"}}), ["cut (us)", "cut (eu)"]),
    ],
)
def test_faults_of_one_name_are_told_apart(faults: Sequence[dict[str, Any]], labels: Sequence[str]) -> None:
    of = variants(*({"faults": [{"name": "cut"} | each]} for each in faults))
    assert list(variant_labels(of).values()) == labels


CROWD = {"flash_crowd": {"at": "120 s", "peers": 75, "within": "10 s"}}
SKYPE = {"model": {"kind": "skype", "compress": 60}}
SYBILS = [{"share": share, "behaviour": {"kind": "sybil"}, "at": "70 s"} for share in (0.1, 0.3)]
REGIONS = {"kind": "regions", "table": "ibm-cloud-2024", "regions": [{"name": "tokyo", "share": 1.0}]}


@pytest.mark.parametrize(
    ("key", "values", "labels"),
    [
        ("churn", ({}, SKYPE, CROWD), ["no churn", "skype", "flash crowd at 120 s, peers 75, within 10 s"]),
        (
            "churn",
            ({"crash": {"share": 0.1}}, {"crash": {"share": 0.2}}),
            ["crash share 10 %", "crash share 20 %"],
        ),
        ("network.latency", ({"kind": "king"}, REGIONS), ["king", "regions"]),
        ("churn.model", ({"kind": "skype", "compress": 6}, SKYPE["model"]), ["compress 6", "compress 60"]),
        ("system.parameters", ({"v": 1, "d": 8, "x": {}}, {"v": 1, "d": 9}), ["d 8", "d 9"]),
        ("system.parameters", ({"membership": {}}, {"d": 9}), ["defaults", "d 9"]),
        ("telemetry", ({}, {"d": 9}), ["defaults", "d 9"]),
        ("attackers", (None, *SYBILS), ["no attackers", "attackers share 10 %", "attackers share 30 %"]),
        (
            "churn",
            ({}, {"crash": SYBILS[0]}, {"crash": SYBILS[1]}),
            ["no churn", "crash share 10 %", "crash share 30 %"],
        ),
        (
            "churn",
            (SKYPE, SKYPE | {"crash": SYBILS[0]}, SKYPE | {"crash": SYBILS[1]}),
            ["skype, compress 60", "crash share 10 %", "crash share 30 %"],
        ),
        (
            "churn",
            (SKYPE, SKYPE | {"crash": SYBILS[0]}, {"crash": SYBILS[0]}),
            [
                "skype, compress 60",
                "skype, compress 60, crash share 10 %, sybil, at 70 s",
                "crash share 10 %, sybil, at 70 s",
            ],
        ),
        ("telemetry", (None, {"a": 1}, {"a": 1, "b": 2}), ["no telemetry", "a 1", "a 1, b 2"]),
    ],
)
def test_names_of_variants_have_what_differs_and_say_what_it_is(
    key: str, values: Sequence[Any], labels: Sequence[str]
) -> None:
    assert list(variant_labels(variants(*({key: each} for each in values))).values()) == labels


def test_keys_that_are_varied_together_count_once() -> None:
    of = variants({"peers": 1, "network.loss": 0.1}, {"peers": 2, "network.loss": 0.2})
    assert independent_keys(of) == ["peers"]


@pytest.mark.parametrize(
    ("vary", "asked", "told"),
    [
        (OF_SYSTEMS, {}, False),
        (OF_SYSTEMS, {"churn": {"model": {"kind": "static"}}}, False),
        (OF_SYSTEMS, {"churn": {"model": {"kind": "poisson"}}}, True),
        (OF_SYSTEMS, {"churn": {"flash_crowd": {"at": "50 s", "peers": 10}}}, True),
        (OF_SYSTEMS, {"faults": [{"name": "cut", "partition": {"share": 0.5}}]}, False),
        (OF_SYSTEMS, {"faults": [{"name": "down", "crash": {"share": 0.5}}]}, True),
        ({"churn.model.kind": ["static", "poisson"]}, {}, True),
    ],
)
def test_hit_ratios_after_joins_are_told_where_peers_join_after_the_beginning(
    tmp_path: Path, vary: dict[str, Sequence[Any]], asked: dict[str, Any], told: bool
) -> None:
    run = sweep_run(tmp_path / "run", vary)
    summary = json.loads(run.summary.read_text())
    for name in ("hit_ratio_after_30_s", "due_after_30_s"):
        title, unit = f"Of joins: {name}", "share" if "hit" in name else "deliveries"
        summary["measures"][name] = {"title": title, "unit": unit, "better": None, "about": ""}
        for variant in summary["variants"]:
            variant["measures"][name] = {"mean": 0.5, "ci95": None, "n": 1}
    run.summary.write_text(json.dumps(summary))
    run.experiment.write_text(json.dumps(json.loads(run.experiment.read_text()) | asked))
    page = write_report(run).read_text()
    assert ("Of joins: hit_ratio_after_30_s" in page) == ("Of joins: due_after_30_s" in page) == told
