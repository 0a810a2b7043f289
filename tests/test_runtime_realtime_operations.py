"""Lookups, content and late deliveries in real time: what the spans say, and the same over two hosts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from realtime_world import UNREACHABLE_AFTER, World
from small_trial import Outcome, run
from trellis.v1 import overlay_pb2
from workload_toys import ContentFlood, FloodParameters, LateLookups, ModuloLookups

from emulator.experiment.draw import draw_plan
from emulator.experiment.plan import Plan
from emulator.experiment.rundir import TrialDirectory
from emulator.experiment.spec import TrialSpec
from emulator.fleet.processes import run_processes
from emulator.protocol import Delay, Event, Lookup, RangeInterest
from emulator.telemetry import names

TESTS = Path(__file__).parent


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.host.agenda.stop()


def marks(span: Span) -> dict[str, Any]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


def look_up(world: World, peer: int, key: int) -> None:
    session = world.host.sessions[peer]
    session.operate("lookup", {names.LOOKUP: 7}, lambda: session.lookups.lookup(7, key))


def test_a_lookup_that_ends_at_its_own_peer_is_marked_on_its_root(world: World) -> None:
    world.add(0, ModuloLookups)
    look_up(world, 0, 0)
    (root,) = world.spans()
    assert root.name == "lookup"
    assert marks(root) == {names.PEER: 0, names.LOOKUP: 7, names.DELIVERED: True, names.HOPS: 0}


def test_a_lookup_that_ends_elsewhere_is_marked_there_alone(world: World) -> None:
    for peer in (0, 1):
        world.add(peer, ModuloLookups)
    look_up(world, 0, 1)
    world.run(until=lambda: world.host.delivered)
    root, request = world.spans()
    assert marks(root) == {names.PEER: 0, names.LOOKUP: 7}
    assert (marks(request)[names.DELIVERED], marks(request)[names.HOPS]) == (True, 1)
    assert names.INTERESTED not in marks(request)


def test_a_delivery_from_a_timer_has_a_span_of_its_own(world: World) -> None:
    for peer in (0, 1):
        world.add(peer, LateLookups)
    look_up(world, 0, 1)
    world.run(until=lambda: world.host.delivered, limit=2.0)
    _, request, timer = world.spans()
    assert (timer.name, timer.trace_id, timer.parent_span_id) == ("timer", request.trace_id, request.span_id)
    assert marks(timer) == {names.PEER: 1, names.DELIVERED: True, names.HOPS: 1}
    assert names.DELIVERED not in marks(request)


@pytest.mark.parametrize("delay", [0.5, math.inf])
def test_a_hastened_timer_fires_once_at_once_and_in_its_own_trace(world: World, delay: float) -> None:
    toy = world.add(0, ModuloLookups)
    waiting: list[Delay] = []

    def wait() -> None:
        waiting.append(toy.world.set_timer(delay, lambda: toy.world.deliver(Lookup(7, 0, 1, 0))))

    world.host.sessions[0].operate("lookup", {}, wait)
    toy.world.set_timer(0.01, waiting[0].hasten)
    world.run(until=lambda: world.host.delivered, limit=0.4)
    root, timer = world.spans()
    assert (timer.name, timer.trace_id) == ("timer", root.trace_id)
    waiting[0].hasten()
    world.run(until=lambda: False, limit=0.6)
    assert world.host.delivered == 1


def test_a_delivery_on_the_news_that_a_peer_is_gone_has_one_too(world: World) -> None:
    toy = world.add(0, ModuloLookups)
    toy.on_unreachable = lambda peer: toy.world.deliver(Lookup(7, 0, 1, 0))  # type: ignore[method-assign]
    look_up(world, 0, 1)
    world.run(until=lambda: world.host.delivered, limit=UNREACHABLE_AFTER + 0.5)
    root, timer = world.spans()
    assert (timer.name, timer.parent_span_id) == ("timer", root.span_id)


def test_what_delivers_nothing_leaves_no_span(world: World) -> None:
    toy = world.add(0, ModuloLookups)
    fired: list[int] = []
    session = world.host.sessions[0]

    def set_timer() -> None:
        toy.world.set_timer(0.01, lambda: fired.append(1))

    session.operate("lookup", {}, set_timer)
    toy.world.set_timer(0.02, lambda: toy.world.deliver(Lookup(1, 0, 0, 0)))
    world.run(until=lambda: world.host.delivered and fired)
    assert [span.name for span in world.spans()] == ["lookup"]


def test_an_installation_is_marked_and_is_no_delivered_event(world: World) -> None:
    world.add(0, lambda session: ContentFlood(session, FloodParameters()))
    session, interest = world.host.sessions[0], RangeInterest({"price": (1.0, 2.0)})
    session.operate("subscribe", {names.INTEREST: 4}, lambda: session.subscribe(4, interest))
    (root,) = world.spans()
    assert marks(root) == {names.PEER: 0, names.INTEREST: 4, names.DELIVERED: True, names.HOPS: 0}
    assert (session.interests, session.topics, world.host.delivered) == ({4}, 0, 0)


def test_what_its_own_publisher_is_given_is_no_delivery(world: World) -> None:
    toy = world.join(0)
    event = Event(1, 0, 7)
    world.host.sessions[0].operate("publish", {names.EVENT: 1}, lambda: toy.world.deliver(event), 7)
    (root,) = world.spans()
    assert marks(root) == {names.PEER: 0, names.TOPIC: 7, names.EVENT: 1}


def test_a_crash_is_told_without_a_word_of_the_peer(world: World) -> None:
    toy = world.add(0, ModuloLookups)
    toy.stop = lambda graceful: toy.world.send(3, overlay_pb2.Goodbye())  # type: ignore[method-assign]
    session = world.host.sessions[0]
    session.operate("leave", {names.GRACEFUL: False}, session.end)
    world.run(limit=0.05)
    assert not world.wire.passages
    assert [span.name for span in world.spans()] == ["leave"]


LOOKUPS = {"lookups": {"rate": 5.0}}
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
    """One plan on the virtual clock and on two hosts."""
    fields = spec | {
        "peers": 6,
        "phases": {"join": "1 s", "settle": "4 s", "measure": "4 s", "drain": "2 s"},
    }
    plan = draw_plan(TrialSpec.model_validate(fields))
    directory = TrialDirectory(path / "processes" / "trials" / "toy-1")
    directory.path.mkdir(parents=True)
    virtual = run(TrialSpec.model_validate(fields), plan, path / "virtual")
    real = TrialSpec.model_validate(
        fields | {"runtime": {"kind": "processes", "hosts": 2, "time_scale": 0.3}}
    )
    fidelity = run_processes(real, plan, directory, lambda progress: None, ["workload_toys"])
    return plan, virtual, Outcome(directory, fidelity)


def told(outcome: Outcome, *keys: str) -> list[tuple[Any, ...]]:
    """The operations with these attributes."""
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


def test_both_runtimes_subscribe_and_deliver_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    plan, virtual, real = outcomes({"system": {"name": "content-flood"}, "workload": RANGES}, tmp_path)
    keys = (names.INTEREST, names.EVENT, names.PEER, names.DELIVERED, names.HOPS)
    assert told(virtual, *keys) == told(real, *keys)
    assert len(told(real)) == plan.subscriptions.num_rows + 8
    assert virtual.deliveries() == real.deliveries()
    assert virtual.deliveries()
