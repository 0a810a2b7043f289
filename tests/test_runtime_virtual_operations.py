"""Lookups and content on the virtual clock: what reaches the protocol, and what its spans say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import workload_toys
from small_trial import Outcome, Span, make_plan, run, trial_spec

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.telemetry import names

ATTRIBUTES = [
    {"name": "price", "low": 0.0, "high": 100.0, "presence": 0.7, "sub_range": 5.0, "skew": 0.5},
    {"name": "size", "low": -10.0, "high": 10.0, "presence": 0.7, "sub_range": 1.0},
]
PHASES = {"join": "2 s", "settle": "10 s", "measure": "10 s", "drain": "3 s"}


def content_spec(within: str = "5 s", **fields: object) -> TrialSpec:
    ranges = {"kind": "ranges", "per_peer": 2.0, "within": within, "attributes": ATTRIBUTES}
    workload = {"subscriptions": ranges, "publications": {"events": 12}}
    return trial_spec("content-flood", 8, 1.0, workload=workload, phases=PHASES, **fields)


def looked_up(tmp_path: Path, system: str = "modulo") -> tuple[Plan, Outcome]:
    """Peer 0 looks up keys 0, 1, 2 of 3 peers."""
    sessions = [(peer, 0.0, 10.0) for peer in range(3)]
    plan = make_plan(3, sessions, lookups=[(1.0 + key, 0, key) for key in range(3)])
    spec = trial_spec(system, 3, 10.0, workload={"lookups": {"rate": 1.0}})
    return plan, run(spec, plan, tmp_path)


def marks(span: Span) -> tuple[bool, int | None]:
    return bool(span.attributes.get(names.DELIVERED)), span.attributes.get(names.HOPS)


def test_a_lookup_is_a_trace_that_ends_where_it_is_delivered(tmp_path: Path) -> None:
    _, outcome = looked_up(tmp_path)
    roots = {span.attributes[names.LOOKUP]: span for span in outcome.spans if span.name == "lookup"}
    assert [roots[n].start for n in range(3)] == [1.0, 2.0, 3.0]
    assert [roots[n].attributes[names.PEER] for n in range(3)] == [0, 0, 0]
    assert not any(names.DELIVERED in root.attributes for root in roots.values())
    (own,) = [span for span in outcome.spans if span.name == "delivery"]
    assert (own.trace, own.parent, marks(own)) == (roots[0].trace, roots[0].span, (True, 0))
    requests = sorted((s for s in outcome.spans if s.name == "LookupRequest"), key=lambda s: s.start)
    assert [(s.trace, s.parent) for s in requests] == [(roots[n].trace, roots[n].span) for n in (1, 2)]
    assert [(s.attributes[names.PEER], *marks(s)) for s in requests] == [(1, True, 1), (2, True, 1)]
    assert not any({names.TOPIC, names.INTERESTED} & s.attributes.keys() for s in outcome.spans)


def test_a_delivery_from_a_timer_has_a_span_of_its_own(tmp_path: Path) -> None:
    _, outcome = looked_up(tmp_path, "late-modulo")
    requests = {s.span: s for s in outcome.spans if s.name == "LookupRequest"}
    late = [span for span in outcome.spans if span.name == "delivery" and span.parent in requests]
    assert len(requests) == len(late) == 2
    for delivery in late:
        request = requests[delivery.parent]
        assert (delivery.trace, delivery.start) == (request.trace, pytest.approx(request.end + 0.5))
        assert delivery.attributes == {
            names.PEER: request.attributes[names.PEER],
            names.LOOKUP: request.attributes[names.PEER],
            names.DELIVERED: True,
            names.HOPS: 1,
        }
        assert marks(request) == (False, None)


def test_a_timer_that_delivers_nothing_leaves_no_span(tmp_path: Path) -> None:
    outcome = run(content_spec(), draw_plan(content_spec()), tmp_path)
    assert any(span.name == "EventData" for span in outcome.spans)
    deliveries = [span for span in outcome.spans if span.name == "delivery"]
    assert not any(names.EVENT in span.attributes for span in deliveries)


def test_a_subscription_says_its_number_and_is_installed_at_its_own_peer(tmp_path: Path) -> None:
    spec = content_spec()
    plan = draw_plan(spec)
    outcome = run(spec, plan, tmp_path)
    told = {s.attributes[names.INTEREST]: s for s in outcome.spans if s.name == "subscribe"}
    rows = plan.subscriptions.to_pylist()
    assert {n: (s.attributes[names.PEER], s.start) for n, s in told.items()} == {
        row["interest"]: (row["peer"], pytest.approx(row["start_s"], abs=1e-8)) for row in rows
    }
    installed = [span for span in outcome.spans if span.name == "delivery"]
    assert {span.parent for span in installed} == {span.span for span in told.values()}
    assert all(marks(span) == (True, 0) for span in installed)
    assert not any(names.TOPIC in span.attributes for span in told.values())


def test_topic_subscriptions_say_their_number_too(tmp_path: Path) -> None:
    subscriptions = [(0, 7, 1.0, 3.0), (0, 8, 2.0, 10.0)]
    plan = make_plan(2, [(0, 0.0, 10.0), (1, 0.0, 10.0)], subscriptions)
    outcome = run(trial_spec("flood", 2, 10.0), plan, tmp_path)
    told = {
        (s.name, s.attributes[names.INTEREST], s.attributes[names.TOPIC])
        for s in outcome.spans
        if names.INTEREST in s.attributes
    }
    assert told == {("subscribe", 0, 7), ("unsubscribe", 0, 7), ("subscribe", 1, 8)}


@pytest.mark.parametrize("within", ["0 s", "5 s"])
def test_events_reach_those_whose_ranges_match(tmp_path: Path, within: str) -> None:
    spec = content_spec(within)
    plan = draw_plan(spec)
    outcome = run(spec, plan, tmp_path)
    wanted = Counter(
        {
            (event["event"], row["peer"]): 1
            for event in plan.publications.to_pylist()
            for row in plan.subscriptions.to_pylist()
            if row["peer"] != event["publisher"]
            and workload_toys.matches(
                {part["attribute"]: (part["low"], part["high"]) for part in row["ranges"]},
                {part["attribute"]: part["value"] for part in event["attributes"]},
            )
        }
    )
    assert wanted
    traces = {s.trace for s in outcome.spans if s.name == "publish"}
    published = [s for s in outcome.spans if s.trace in traces]
    found = outcome.deliveries()
    assert {pair: n for pair, n in found.items() if pair in wanted} == wanted
    assert sum(found.values()) == sum(wanted.values())
    assert not any({names.TOPIC, names.INTERESTED} & s.attributes.keys() for s in published)


def test_what_is_asked_of_a_peer_that_is_down_is_skipped(tmp_path: Path) -> None:
    plan = make_plan(3, [(0, 0.0, 2.0), (1, 0.0, 10.0)], lookups=[(1.0, 0, 0), (3.0, 0, 0)])
    outcome = run(trial_spec("modulo", 3, 10.0, workload={"lookups": {"rate": 1.0}}), plan, tmp_path)
    assert [s.attributes[names.LOOKUP] for s in outcome.spans if s.name == "lookup"] == [0]


@pytest.mark.parametrize(("allowed", "valid"), [(0, False), (1, True), ("25 %", False), ("34 %", True)])
def test_what_is_asked_of_a_peer_that_is_down_is_missed(tmp_path: Path, allowed: object, valid: bool) -> None:
    sessions = [(0, 0.0, 10.0), (1, 0.0, 10.0), (2, 6.0, 10.0)]
    plan = make_plan(3, sessions, lookups=[(1.0, 0, 0), (5.0, 2, 1), (7.0, 2, 0)])
    spec = trial_spec(
        "modulo", 3, 10.0, workload={"lookups": {"rate": 1.0}}, fidelity={"operations_missed": allowed}
    )
    fidelity = run(spec, plan, tmp_path).fidelity
    assert fidelity.valid is valid
    (check,) = [check for check in fidelity.checks if check.name == "operations missed"]
    assert check.measured == 1
    assert f"fidelity.operations_missed is {allowed}" in check.detail
