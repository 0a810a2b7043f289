"""Grafana's dashboards ask only for what the programs of a release export, and show all of it."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from metrics_of_release import families

FOLDER = Path(__file__).parent.parent / "charts" / "trellis" / "dashboards"
DASHBOARDS: dict[str, dict[str, Any]] = {p.stem: json.loads(p.read_text()) for p in FOLDER.glob("*.json")}
UNITS = {"short", "s", "percentunit", "cps", "mps", "bytes"}
"""The units of Grafana that panels use: numbers, seconds, shares, counts or messages a second, and bytes."""
FAMILIES = families()
LABELS = {sample.name: set(sample.labels) for family in FAMILIES for sample in family.samples}
"""The labels of each sample that the programs export, by its name."""
each = pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=DASHBOARDS.keys())


def variables(dashboard: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


def targets(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    return [target for panel in dashboard["panels"] for target in panel["targets"]]


def queries(dashboard: dict[str, Any]) -> list[str]:
    asked = [
        variable["query"]["query"]
        for variable in variables(dashboard).values()
        if variable["type"] == "query"
    ]
    return [target["expr"] for target in targets(dashboard)] + asked


def metrics(query: str) -> set[str]:
    return set(re.findall(r"\b(?:trellis|process)_\w+", query))


@each
def test_every_metric_is_one_that_is_exported(dashboard: dict[str, Any]) -> None:
    for query in queries(dashboard):
        assert metrics(query), query
        assert metrics(query) <= LABELS.keys(), query


def test_everything_that_trellis_exports_is_shown() -> None:
    shown = {
        metric
        for dashboard in DASHBOARDS.values()
        for query in queries(dashboard)
        for metric in metrics(query)
    }
    hidden = [family.name for family in FAMILIES if not shown & {sample.name for sample in family.samples}]
    assert [name for name in hidden if name.startswith("trellis_")] == []


@each
def test_every_label_is_one_that_its_metric_has(dashboard: dict[str, Any]) -> None:
    for query in queries(dashboard):
        for metric, selector in re.findall(r"\b((?:trellis|process)_\w+)\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)\s*[=!]~?", selector)) <= LABELS[metric], query
        for legend in re.findall(r"label_values\((trellis_\w+).*, (\w+)\)", query):
            assert legend[1] in LABELS[legend[0]]
    for target in targets(dashboard):
        known = set().union(*(LABELS[metric] for metric in metrics(target["expr"])))
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= known


@each
def test_counters_are_shown_as_rates_or_totals_and_gauges_never_as_rates(dashboard: dict[str, Any]) -> None:
    counting = ("_total", "_bucket", "_sum", "_count")
    for query in queries(dashboard):
        for metric in re.findall(r"(?:rate|increase)\(((?:trellis|process)_\w+)", query):
            assert metric.endswith(counting), query


@each
def test_every_query_is_of_the_chosen_release_and_trials(dashboard: dict[str, Any]) -> None:
    for target in targets(dashboard):
        for metric, selector in re.findall(r"((?:trellis|process)_\w+)(\{[^}]*\})?", target["expr"]):
            assert 'release=~"$release"' in selector
            assert 'trial=~"$trial"' in selector or "trial" not in LABELS[metric]


def test_dashboards_have_names_of_their_own() -> None:
    assert len({dashboard["uid"] for dashboard in DASHBOARDS.values()}) == len(DASHBOARDS) == 3
    assert len({dashboard["title"] for dashboard in DASHBOARDS.values()}) == len(DASHBOARDS)


@each
def test_panels_have_ids_of_their_own_titles_units_and_say_what_they_show(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    identifiers = [panel["id"] for panel in panels]
    assert len(set(identifiers)) == len(identifiers)
    for panel in panels:
        assert panel["title"]
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)


@each
def test_panels_lie_within_the_grid_and_over_none_other(dashboard: dict[str, Any]) -> None:
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)


@each
def test_the_data_source_is_chosen_and_not_built_in(dashboard: dict[str, Any]) -> None:
    chosen = variables(dashboard)
    assert chosen["datasource"]["type"] == "datasource"
    sources = [source["datasource"] for panel in dashboard["panels"] for source in (panel, *panel["targets"])]
    sources += [v["datasource"] for v in chosen.values() if v["type"] == "query"]
    assert all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)
    assert dashboard.get("id") is None


@each
def test_every_variable_that_is_used_is_defined(dashboard: dict[str, Any]) -> None:
    built_in = {"__rate_interval", "__range", "__all"}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard)))
    assert used - built_in <= variables(dashboard).keys()
    assert {"release", "trial", "datasource"} <= used
