"""The Grafana dashboard asks only for what the coordinator exports, and for all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import CollectorRegistry
from test_fleet_live_metrics import reading

from emulator.fleet.coordinator.live_metrics import LiveCollector

PATH = Path(__file__).parent.parent / "charts" / "trellis" / "dashboards" / "trellis.json"
DASHBOARD: dict[str, Any] = json.loads(PATH.read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
VARIABLES: dict[str, dict[str, Any]] = {v["name"]: v for v in DASHBOARD["templating"]["list"]}
UNITS = {"short", "s", "percentunit", "cps", "mps"}
"""The units of Grafana that panels use: plain numbers, seconds, shares of 1, counts and messages a second."""


def queries() -> list[str]:
    panels = [target["expr"] for panel in PANELS for target in panel["targets"]]
    return panels + [v["query"]["query"] for v in VARIABLES.values() if v["type"] == "query"]


def metrics(query: str) -> set[str]:
    return set(re.findall(r"\btrellis_\w+", query))


def exported() -> Iterator[Metric]:
    registry = CollectorRegistry()
    registry.register(LiveCollector("demo", lambda: [reading()]))
    return iter(registry.collect())


@pytest.fixture(scope="module")
def labels() -> dict[str, set[str]]:
    """The labels of each sample that the coordinator exports, by its name."""
    return {sample.name: set(sample.labels) for metric in exported() for sample in metric.samples}


def test_every_metric_is_one_that_the_coordinator_exports(labels: dict[str, set[str]]) -> None:
    for query in queries():
        assert metrics(query), query
        assert metrics(query) <= labels.keys(), query


def test_everything_that_is_exported_is_shown(labels: dict[str, set[str]]) -> None:
    assert set().union(*map(metrics, queries())) == labels.keys()


def test_every_label_is_one_that_its_metric_has(labels: dict[str, set[str]]) -> None:
    for query in queries():
        for metric, selector in re.findall(r"\b(trellis_\w+)\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)\s*=~?", selector)) <= labels[metric], query
        for legend in re.findall(r"label_values\((trellis_\w+).*, (\w+)\)", query):
            assert legend[1] in labels[legend[0]]
    for panel in PANELS:
        for target in panel["targets"]:
            known = set().union(*(labels[metric] for metric in metrics(target["expr"])))
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= known


def test_counters_are_shown_as_rates_or_totals_and_gauges_never_as_rates() -> None:
    counters = {f"{metric.name}_total" for metric in exported() if metric.type == "counter"}
    for query in queries():
        for metric in re.findall(r"(?:rate|increase)\((trellis_\w+)", query):
            assert metric in counters, query


def test_every_query_is_of_the_chosen_release_and_trials() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            for selector in re.findall(r"trellis_\w+(\{[^}]*\})?", target["expr"]):
                assert 'release=~"$release"' in selector
                assert 'trial=~"$trial"' in selector


def test_panels_have_ids_of_their_own_titles_units_and_say_what_they_show() -> None:
    identifiers = [panel["id"] for panel in PANELS]
    assert len(set(identifiers)) == len(identifiers)
    for panel in PANELS:
        assert panel["title"]
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)


def test_panels_lie_within_the_grid_and_over_none_other() -> None:
    places = [panel["gridPos"] for panel in PANELS]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)


def test_the_data_source_is_chosen_and_not_built_in() -> None:
    assert VARIABLES["datasource"]["type"] == "datasource"
    sources = [source["datasource"] for panel in PANELS for source in (panel, *panel["targets"])]
    sources += [v["datasource"] for v in VARIABLES.values() if v["type"] == "query"]
    assert all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)
    assert DASHBOARD.get("id") is None


def test_every_variable_that_is_used_is_defined() -> None:
    built_in = {"__rate_interval", "__all"}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD)))
    assert used - built_in <= VARIABLES.keys()
    assert {"release", "trial", "datasource"} <= used
