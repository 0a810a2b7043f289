"""Lookups, content and late deliveries in real time: what the spans say, and the same over two hosts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from fleet_toys import PATH
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from realtime_world import World
from small_trial import Outcome, run
from workload_toys import ContentFlood, FloodParameters, LateLookups, ModuloLookups

from emulator.contract.identifiers import RING
from emulator.contract.protocol import Event, Lookup, RangeInterest, Timer
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.fleet.processes import run_processes
from emulator.telemetry import names
from emulator.telemetry.otlp_files import read_records
from trellis.v1.overlay import Goodbye, LookupRequest


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", PATH)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


class TwiceLookups(ModuloLookups):
    """Ends each lookup, and one more."""

    def on_request(self, sender: int, message: LookupRequest) -> None:
        for number in (message.number, message.number + 1):
            self.environment.deliver(Lookup(number, sender, self.environment.peer, 1))


class DoubtfulLookups(ModuloLookups):
    """Ends a lookup itself when the peer that it asked is gone."""

    def on_unreachable(self, peer: int) -> None:
        self.environment.deliver(Lookup(7, self.environment.peer, peer, 0))


class PoliteLookups(ModuloLookups):
    """Says a word when it leaves."""

    def stop(self, graceful: bool) -> None:
        self.environment.send(3, Goodbye())


def marks(span: Span) -> dict[str, Any]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


def look_up(world: World, peer: int, key: int) -> None:
    session = world.host.sessions[peer]
    session.operate("lookup", {names.LOOKUP: 7}, lambda: session.protocol.lookup(7, key))


def test_a_lookup_that_ends_at_its_own_peer_has_a_delivery_below_its_root(world: World) -> None:
    world.add(0, ModuloLookups)
    look_up(world, 0, 0)
    delivery, root = world.spans()
    assert (root.name, delivery.name) == ("lookup", "delivery")
    assert (delivery.trace_id, delivery.parent_span_id) == (root.trace_id, root.span_id)
    assert marks(root) == {names.PEER: 0, names.LOOKUP: 7}
    assert marks(delivery) == {names.PEER: 0, names.LOOKUP: 7, names.DELIVERED: True, names.HOPS: 0}


def test_a_lookup_that_ends_elsewhere_is_marked_there_alone(world: World) -> None:
    for peer in (0, 1):
        world.add(peer, ModuloLookups)
    look_up(world, 0, 1)
    world.run(until=lambda: world.host.outcomes.number)
    root, request = world.spans()
    assert marks(root) == {names.PEER: 0, names.LOOKUP: 7}
    told = marks(request)
    assert (told[names.DELIVERED], told[names.HOPS], told[names.LOOKUP]) == (True, 1, 7)
    assert names.INTERESTED not in told


def test_a_delivery_from_a_timer_has_a_span_of_its_own(world: World) -> None:
    for peer in (0, 1):
        world.add(peer, LateLookups)
    look_up(world, 0, 1)
    world.run(until=lambda: world.host.outcomes.number)
    _, request, late = world.spans()
    assert (late.name, late.trace_id, late.parent_span_id) == ("delivery", request.trace_id, request.span_id)
    assert marks(late) == {names.PEER: 1, names.LOOKUP: 7, names.DELIVERED: True, names.HOPS: 1}
    assert names.DELIVERED not in marks(request)


def test_of_what_one_message_delivers_all_but_the_first_has_a_span_of_its_own(world: World) -> None:
    for peer in (0, 1):
        world.add(peer, TwiceLookups)
    look_up(world, 0, 1)
    world.run(until=lambda: world.host.outcomes.number == 2)
    _, second, request = world.spans()
    assert (second.name, second.parent_span_id) == ("delivery", request.span_id)
    assert [marks(span)[names.LOOKUP] for span in (request, second)] == [7, 8]


def test_a_delivery_outside_of_any_operation_is_a_trace_of_its_own(world: World) -> None:
    toy = world.add(0, ModuloLookups)
    world.add(1, ModuloLookups)
    timer = toy.environment.every(0.01, lambda: toy.environment.deliver(Lookup(7, 1, 0, 2)))
    world.run(until=lambda: world.host.outcomes.number)
    timer.cancel()
    look_up(world, 0, 1)
    world.run(until=lambda: world.host.outcomes.number == 2)
    delivery, root, _ = world.spans()
    assert (delivery.name, delivery.parent_span_id) == ("delivery", b"")
    assert delivery.trace_id != root.trace_id
    assert marks(delivery) == {names.PEER: 0, names.LOOKUP: 7, names.DELIVERED: True, names.HOPS: 2}


@pytest.mark.parametrize("delay", [0.5, math.inf])
def test_a_hastened_timer_fires_once_at_once_and_in_its_own_trace(world: World, delay: float) -> None:
    toy = world.add(0, ModuloLookups)
    waiting: list[Timer] = []
    late: list[int] = []

    def wait() -> None:
        waiting.append(toy.environment.set_timer(delay, lambda: toy.environment.deliver(Lookup(7, 0, 1, 0))))

    world.host.sessions[0].operate("lookup", {}, wait)
    toy.environment.set_timer(0.01, waiting[0].hasten)
    toy.environment.set_timer(0.4, lambda: late.append(1))
    world.run(until=lambda: world.host.outcomes.number)
    assert not late
    root, delivery = world.spans()
    assert (delivery.name, delivery.trace_id) == ("delivery", root.trace_id)
    waiting[0].hasten()
    toy.environment.set_timer(0.6, lambda: late.append(2))
    world.run(until=lambda: 2 in late)
    assert world.host.outcomes.number == 1


def test_a_hastened_periodic_call_is_made_once_more(world: World) -> None:
    toy = world.add(0, ModuloLookups)
    calls: list[int] = []
    timer = toy.environment.every(1000.0, lambda: calls.append(1))
    timer.hasten()
    world.run(until=lambda: calls)
    timer.hasten()
    timer.cancel()
    world.pass_time(0.02)
    assert calls == [1]


def test_a_delivery_on_the_news_that_a_peer_is_gone_has_one_too(world: World) -> None:
    world.add(0, DoubtfulLookups)
    look_up(world, 0, 1)
    world.run(until=lambda: world.host.outcomes.number)
    root, down, delivery = world.spans()
    assert [(span.name, span.parent_span_id) for span in (down, delivery)] == [
        ("observation", root.span_id),
        ("delivery", root.span_id),
    ]


def test_what_delivers_nothing_leaves_no_span(world: World) -> None:
    toy = world.add(0, ModuloLookups)
    fired: list[int] = []
    session = world.host.sessions[0]

    def set_timer() -> None:
        toy.environment.set_timer(0.01, lambda: fired.append(1))

    session.operate("lookup", {}, set_timer)
    world.run(until=lambda: fired)
    assert [span.name for span in world.spans()] == ["lookup"]


def test_an_installation_is_marked_and_is_no_delivered_event(world: World) -> None:
    world.add(0, lambda environment: ContentFlood(environment, FloodParameters()))
    session, interest = world.host.sessions[0], RangeInterest({"price": (1.0, 2.0)})
    session.operate("subscribe", {names.INTEREST: 4}, lambda: session.protocol.subscribe(interest))
    delivery, root = world.spans()
    assert marks(root) == {names.PEER: 0, names.INTEREST: 4}
    assert marks(delivery) == {names.PEER: 0, names.DELIVERED: True, names.HOPS: 0}
    assert delivery.parent_span_id == root.span_id
    assert world.host.outcomes.number == 0


def test_what_its_own_publisher_is_given_is_no_delivery(world: World) -> None:
    toy = world.join(0)
    event = Event(1, 0, 7)
    world.host.sessions[0].operate("publish", {names.EVENT: 1}, lambda: toy.environment.deliver(event), 7)
    (root,) = world.spans()
    assert marks(root) == {names.PEER: 0, names.TOPIC: 7, names.EVENT: 1}


def test_an_identifier_is_told_with_its_channel_and_its_metric(world: World) -> None:
    toy = world.add(0, ModuloLookups)
    toy.environment.channel("ring").take_identifier(0x2B, RING)
    world.recorder.close()
    (file,) = world.directory.glob("*metrics*")
    points = [
        {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in point.attributes}
        for record in read_records(file)
        for metric in MetricsData.FromString(record).resource_metrics[0].scope_metrics[0].metrics
        if metric.name == names.TAKEN_IDENTIFIER
        for point in metric.gauge.data_points
    ]
    assert points == [{names.PEER: 0, names.CHANNEL: "ring", names.IDENTIFIER: "2b", names.SPACE: RING.name}]


def test_a_crash_is_told_without_a_word_of_the_peer(world: World) -> None:
    world.add(0, PoliteLookups)
    session = world.host.sessions[0]
    session.operate("leave", {names.GRACEFUL: False}, session.end)
    world.pass_time(0.05)
    assert not world.wire.passages
    assert [span.name for span in world.spans()] == ["leave"]


LOOKUPS: dict[str, Any] = {"lookups": {"rate": 5.0}}
RANGES = {
    "subscriptions": {
        "kind": "ranges",
        "per_peer": 1.5,
        "within": "3 s",
        "attributes": [{"name": "price", "low": 0.0, "high": 100.0, "sub_range": 5.0}],
    },
    "publications": {"events": 8},
}


def outcomes(spec: dict[str, Any], path: Path) -> tuple[Plan, Outcome, Outcome]:
    """Run one plan on the virtual clock and on two hosts, and return it with both outcomes."""
    fields = spec | {
        "peers": 6,
        "phases": {"join": "1 s", "settle": "4 s", "measure": "4 s", "drain": "2 s"},
    }
    plan = _with_later_subscriptions(draw_plan(TrialSpec.model_validate(fields)))
    directory = TrialDirectory(path / "processes" / "trials" / "toy-1")
    directory.path.mkdir(parents=True)
    virtual = run(TrialSpec.model_validate(fields), plan, path / "virtual")
    real = TrialSpec.model_validate(
        fields | {"runtime": {"kind": "processes", "hosts": 2, "time_scale": 0.3}}
    )
    fidelity = run_processes(real, plan, directory, lambda progress: None)
    return plan, virtual, Outcome(directory, fidelity)


def _with_later_subscriptions(plan: Plan) -> Plan:
    """Return the plan with subscriptions that begin when all peers have been up for 500 ms, since a peer that
    joins late on a busy machine takes up with its join what began before."""
    table = plan.subscriptions
    index = table.schema.get_field_index("start_s")
    later = table.set_column(index, "start_s", pc.add(table["start_s"], 1.5))
    tables = {**plan.tables, "subscriptions": later}
    return Plan(plan.peers, plan.sessions, plan.faults, **tables)


def told(outcome: Outcome, *keys: str) -> list[tuple[Any, ...]]:
    """Return the operations with these attributes."""
    found = [
        (span.name, *(span.attributes.get(key) for key in keys))
        for span in outcome.spans
        if span.name in ("subscribe", "publish", "lookup")
    ]
    return sorted(found, key=repr)


def test_both_runtimes_look_up_the_same(tmp_path: Path, toys: None) -> None:
    plan, virtual, real = outcomes({"system": {"name": "modulo"}, "workload": LOOKUPS}, tmp_path)
    keys = (names.LOOKUP, names.PEER, names.DELIVERED, names.HOPS)
    assert told(virtual, *keys) == told(real, *keys)
    assert len(told(real)) == plan.lookups.num_rows > 5
    for outcome in (virtual, real):
        assert sum(span.attributes.get(names.DELIVERED, False) for span in outcome.spans) == len(told(real))


def test_both_runtimes_subscribe_and_deliver_the_same(tmp_path: Path, toys: None) -> None:
    plan, virtual, real = outcomes({"system": {"name": "content-flood"}, "workload": RANGES}, tmp_path)
    keys = (names.INTEREST, names.EVENT, names.PEER, names.DELIVERED, names.HOPS)
    assert told(virtual, *keys) == told(real, *keys)
    assert len(told(real)) == plan.subscriptions.num_rows + 8
    assert virtual.deliveries() == real.deliveries()
    assert virtual.deliveries()
