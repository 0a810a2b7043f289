"""What an experiment asks for: topics, ranges or lookups, and of which systems."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import workload_toys  # noqa: F401 - registers a system that serves ranges
from test_experiment_load import SMALL, problems

from emulator.experiment.file.load import load
from emulator.experiment.file.resolved import resolved_yaml

LOOKUPS = """\
name: looks
system: {name: small-world}
peers: 20
workload:
  lookups: {rate: 5}
"""
RANGES = """\
name: ranges
system: {name: rvr}
peers: 20
workload:
  subscriptions:
    kind: ranges
    attributes:
      - {name: price, low: 0, high: 10, sub_range: 1}
      - {name: size, low: 0, high: 10, sub_range: 1}
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(text: str) -> Path:
        path = tmp_path / "experiment.yaml"
        path.write_text(text)
        return path

    return _write


def test_lookups_need_no_publications_and_get_none(write: Write) -> None:
    workload = load(write(LOOKUPS)).workload
    assert (workload.asks_for, workload.publications) == ("lookups", None)
    assert workload.lookups is not None
    assert workload.lookups.keys == "uniform"
    topics = load(write(SMALL)).workload
    assert topics.publications is not None
    assert (topics.asks_for, topics.publications.events) == ("topics", 200)


def test_a_workload_asks_for_one_thing(write: Write) -> None:
    (told,) = problems(write(LOOKUPS + "  subscriptions: {kind: low}\n"))
    assert told.startswith("experiment.yaml:5: workload.lookups: is there together with")
    (told,) = problems(write(LOOKUPS.replace("lookups: {rate: 5}", "changes: {share: 0}")))
    assert told.startswith(
        "experiment.yaml:4: workload: has neither subscriptions, lookups, values, membership nor broadcast"
    )
    (told,) = problems(write(LOOKUPS + "  publications: {events: 3}\n"))
    assert told.startswith("experiment.yaml:6: workload.publications: needs workload.subscriptions")


def test_a_system_is_refused_a_workload_that_it_does_not_serve(write: Write) -> None:
    (told,) = problems(write(LOOKUPS.replace("small-world", "vitis")))
    assert told.startswith("experiment.yaml:2: system.name: vitis takes subscriptions by topic; ")
    assert re.search(r"this workload has lookups: choose one of .*small-world", told)
    (told,) = problems(write(RANGES))
    assert "rvr takes subscriptions by topic; this workload has subscriptions by ranges" in told
    (told,) = problems(write(SMALL.replace("vitis", "small-world")))
    assert re.search(r"small-world takes lookups; this workload has .*topic: choose one of .*vitis", told)


def test_a_sweep_over_systems_of_different_workloads_is_refused_where_it_says_so(write: Write) -> None:
    (told,) = problems(write(LOOKUPS + "vary: {system.name: [small-world, vitis]}\n"))
    assert told.startswith("experiment.yaml:6: vary.system.name[1]: vitis takes subscriptions by topic")


def test_attributes_are_checked_each_in_its_line(write: Write) -> None:
    text = RANGES.replace("size, low: 0, high: 10, sub_range", "price, low: 0, high: -1, sub_rang")
    told = problems(write(text))
    key = "workload.subscriptions.attributes[1].sub_rang"
    assert [line.split(": ")[:2] for line in told] == [["experiment.yaml:9", key]]
    assert 'Did you mean "sub_range"' in told[0], "the key is not said to be missing, too"
    told = problems(write(text.replace("sub_rang:", "sub_range:").replace("rvr", "content-flood")))
    assert [line.split(": ")[:2] for line in told] == [
        ["experiment.yaml:9", "workload.subscriptions.attributes[1].high"],
        ["experiment.yaml:9", "workload.subscriptions.attributes[1].name"],
    ]


def test_attributes_that_the_system_does_not_know_are_refused_with_the_mend(write: Write) -> None:
    told = problems(write(RANGES.replace("rvr", "li")))
    assert [line.split(": ")[:2] for line in told] == [
        ["experiment.yaml:8", "workload.subscriptions.attributes[0].name"],
        ["experiment.yaml:9", "workload.subscriptions.attributes[1].name"],
    ]
    assert "li knows Attr1, Attr2, Attr3, Attr4, not price: put price: [" in told[0]
    li = "{name: li, parameters: {attributes: {price: [0, 5], size: [0, 10]}}}"
    (told_of_one,) = problems(write(RANGES.replace("{name: rvr}", li)))
    assert "li has price from 0 to 5: put price: [" in told_of_one


@pytest.mark.parametrize("text", [LOOKUPS, RANGES.replace("rvr", "content-flood")])
def test_every_workload_survives_being_resolved(write: Write, tmp_path: Path, text: str) -> None:
    spec = load(write(text))
    (tmp_path / "resolved.yaml").write_text(resolved_yaml(spec))
    assert load(tmp_path / "resolved.yaml") == spec


def test_the_parts_of_a_workload_can_be_varied(write: Write) -> None:
    varied = "vary: {workload.lookups.rate: [1, 2], workload.lookups.keys: [uniform, peers]}\n"
    assert len(load(write(LOOKUPS + varied)).vary) == 2
    (told,) = problems(write(LOOKUPS + "vary: {workload.lookups.rat: [1]}\n"))
    assert 'Did you mean "workload.lookups.rate"' in told
    ranges = RANGES.replace("rvr", "content-flood")
    assert load(write(ranges + "vary: {workload.subscriptions.per_peer: [1, 5]}\n")).vary
