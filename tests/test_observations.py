"""What components say of themselves comes through telemetry to tables, summary and report."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fake_environment import FakeEnvironment
from pyspark.sql import SparkSession
from small_trial import Outcome, make_plan, run, trial_spec
from tables_page import differences
from talking_toy import BLOCK, IDLE, LATE, Talking, TalkingParameters, Watch

import trellis
from analysis.measures.catalogue import describe
from analysis.pipeline import analyze
from analysis.report.report import write_report
from emulator.contract.protocol import Gauge
from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import create_run
from emulator.telemetry import names
from emulator.trials.trial import run_trial

Analyzed = tuple[RunDirectory, dict[str, Any]]
EXPERIMENT = """
name: talking
system: {name: talking}
peers: 4
network: {latency: {kind: constant, rtt: 100 ms}}
workload:
  subscriptions: {kind: random, topics: 2, per_peer: 1, buckets: 1, within: 0 s}
  publications: {events: 6, publisher: any}
phases: {join: 1 s, settle: 11 s, measure: 10 s, drain: 5 s}
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    plan = make_plan(
        4,
        [(peer, 0.0, 20.0) for peer in range(4)],
        [(peer, 1, 0.0, 20.0) for peer in range(4)],
        [(5.0, 0, 1), (6.0, 1, 1)],
    )
    return run(trial_spec("talking", 4, 20.0), plan, tmp_path_factory.mktemp("talking"))


def test_an_observation_belongs_to_the_trace_that_is_handled(outcome: Outcome) -> None:
    spans = {span.span: span for span in outcome.spans}
    told = [span for span in outcome.spans if span.attributes.get(names.OBSERVED) == BLOCK]
    assert len(told) == 6
    for span in told:
        parent = spans[span.parent]
        assert (parent.name, parent.trace) == ("EventData", span.trace)
        assert span.attributes[names.PEER] == parent.attributes[names.PEER]
        assert span.attributes[names.VALUE] == 1.0
        assert span.attributes[names.UNIT] == "hops"
    assert Counter(span.attributes[names.SUBJECT] for span in told) == {0: 3, 1: 3}


def test_what_is_nan_has_no_value(outcome: Outcome) -> None:
    idle = [span for span in outcome.spans if span.attributes.get(names.OBSERVED) == IDLE]
    assert len(idle) == 4
    assert all(names.VALUE not in span.attributes for span in idle)
    assert {span.attributes[names.CHANNEL] for span in idle} == {"watch"}


def test_a_reply_that_comes_later_is_one_message_of_the_trace_that_sends_it(outcome: Outcome) -> None:
    spans = {span.span: span for span in outcome.spans}
    replies = [span for span in outcome.spans if span.name == "Goodbye"]
    assert len(replies) == 2
    for reply in replies:
        request = spans[reply.parent]
        assert request.name == "LookupRequest" and request.trace == reply.trace
        assert reply.start == pytest.approx(request.end + LATE, abs=1e-6)
    answered = [span for span in outcome.spans if span.attributes.get(names.OBSERVED) == "answered"]
    assert [span.attributes[names.SUBJECT] for span in answered] == [-2, -3]
    assert [span.parent for span in answered] == [reply.span for reply in replies]


def peer(world: FakeEnvironment) -> Talking:
    return Talking(world, TalkingParameters())


def test_the_world_of_tests_keeps_observations() -> None:
    world = FakeEnvironment(peer=2)
    peer(world).start([])
    world.record("x", 2, subject=5, unit="ms")
    idle, other = world.recorded
    assert (idle.name, idle.channel, math.isnan(idle.value)) == (IDLE, "watch", True)
    assert other == ("x", 2.0, 5, "ms", "")


@pytest.mark.parametrize(
    ("name", "value", "subject", "kind", "complaint"),
    [
        ("", 1.0, None, ValueError, "has a name"),
        ("x", 1.0, 1 << 63, ValueError, "64 bits"),
    ],
)
def test_a_wrong_observation_is_refused_with_who_made_it(
    name: str, value: Any, subject: int, kind: type[Exception], complaint: str
) -> None:
    world = FakeEnvironment(peer=2)
    toy = peer(world)
    with pytest.raises(kind, match=rf"Watch of peer 2 on channel 'watch' recorded {name!r}: .*{complaint}"):
        toy.watch.environment.record(name, value, subject)


def test_a_gauge_that_is_declared_wrongly_is_refused_with_who_did_it() -> None:
    class Wrong(Watch):
        GAUGES: ClassVar[Mapping[str, Gauge]] = {"fill": Gauge(better="more")}

    with pytest.raises(TypeError, match=r"Wrong of peer 0 declares the gauge 'fill' wrongly: its `better`"):
        Wrong(FakeEnvironment())


def test_declared_gauges_are_described_as_they_say() -> None:
    told = describe("state.watch/fill", {"watch/fill": Gauge("How full.", "share", "higher")})
    assert (told.unit, told.better) == ("share", "higher")
    assert told.about.startswith("How full. ")
    assert describe("state.watch/other", {}).unit == ""


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Analyzed:
    folder = tmp_path_factory.mktemp("analyzed")
    file = folder / "talking.yaml"
    file.write_text(EXPERIMENT)
    spec = load(file)
    directory = create_run(spec, folder / "runs")
    for trial in trials(spec):
        run_trial(trial.spec, directory.trial(trial.name), lambda progress: None)
    return directory, analyze(directory, lambda standing: None, spark)


def tables_of(analyzed: Analyzed) -> Any:
    path: Path = analyzed[0].path
    return trellis.open_run(path).tables


def test_the_tables_are_as_the_page_of_tables_says(analyzed: Analyzed) -> None:
    assert differences(analyzed[0]) == []


def test_observations_are_a_table(analyzed: Analyzed) -> None:
    found = tables_of(analyzed)["observations"]
    blocks = found[found.name == BLOCK]
    assert len(blocks) == 18 and set(blocks.unit) == {"hops"} and set(blocks.session) == {0}
    hops = tables_of(analyzed)["hops"]
    assert set(hops.message).isdisjoint({"observation"})
    at = hops.set_index("span").handled_s
    assert list(blocks.at_s) == list(at[blocks.span])
    assert set(blocks.trace) <= set(hops.trace)
    idle = found[found.name == IDLE]
    assert len(idle) == 4 and idle.value.isna().all() and set(idle.channel) == {"watch"}
    assert list(found[found.name == "answered"].subject < 0) == [True] * 6


def test_gauges_are_sampled_over_time_if_they_ask_for_it(analyzed: Analyzed) -> None:
    states = tables_of(analyzed)["states"]
    sampled = states[states.moment == "sample"]
    assert set(sampled.name) == {"fill", "age"}
    ages = sampled[(sampled.name == "age") & (sampled.peer == 1)]
    assert list(ages.value) == list(ages.at_s) == [5.0, 10.0, 15.0, 20.0, 25.0]
    assert sorted(states[states.moment == "end"].name.unique()) == ["age", "bare", "fill"]


def test_what_was_not_measured_is_told_with_who_said_so(analyzed: Analyzed) -> None:
    directory, summary = analyzed
    (trial,) = summary["trials"]
    assert trial["not_numbers"] == [
        {"system": "talking", "what": "gauge", "channel": "watch", "name": "fill", "times": 7, "of": 28},
        {"system": "talking", "what": "observation", "channel": "watch", "name": IDLE, "times": 4, "of": 4},
    ]
    assert trial["measures"]["state.fill"] == pytest.approx(0.5)  # of the three that told
    assert json.loads(directory.summary.read_text())["valid"]
    page = re.sub(r"<[^>]+>", " ", write_report(directory).read_text())
    assert re.search(r"talking\s+watch\s+gauge fill\s+7\s+28", page)


def test_summary_has_unit_direction_and_text_of_a_gauge(analyzed: Analyzed) -> None:
    fill = analyzed[1]["measures"]["state.fill"]
    assert (fill["unit"], fill["better"]) == ("share", "higher")
    assert fill["about"].startswith("How full the watch is.")
    assert analyzed[1]["measures"]["state.bare"]["unit"] == ""
