"""Values over any overlay: the peers closest to a key hold copies, and repair brings them back to them."""

from __future__ import annotations

import pytest
from fake_environment import FakeEnvironment
from noted_overlay import NotedOverlay
from values_world import ValuesWorld

from emulator.contract.identifiers import RING, ClockwiseRing, IdentifierSpace, hash_of
from emulator.contract.outcomes import Completion
from emulator.contract.value_service import GET, PUT, SERVED
from emulator.protocols.values.own_requests import OwnRequests
from trellis.v1.values import (
    CopyOffer,
    GetRequest,
    HeldVersion,
    Inventory,
    PutRequest,
    RepairCopy,
    StoreCopy,
    StoredValue,
)

KEYS = [hash_of(f"value {number}") for number in range(12)]
OVER: dict[str, IdentifierSpace] = {"values-chord": ClockwiseRing(128), "values-pastry": RING}
"""The systems, and the metric by which each of their overlays says who is the closest."""


@pytest.mark.parametrize("system", OVER)
def test_a_put_makes_copies_at_the_closest_peers_and_tells_how_many(system: str) -> None:
    world = ValuesWorld(system, 20, replicas=4)
    for number, key in enumerate(KEYS):
        (done,) = world.put(number, key, number=number)
        assert (done.operation, done.number, done.value) == (PUT, number, 4.0)
        assert world.holders(key) == set(world.closest(key, 4, OVER[system].distance))


@pytest.mark.parametrize("system", OVER)
def test_every_peer_gets_every_value_in_its_last_version(system: str) -> None:
    world = ValuesWorld(system, 16, replicas=3)
    for number, key in enumerate(KEYS[:4]):
        world.put(number, key)
        world.put(number + 1, key, version=2 + number)
    for peer in world.up:
        for number, key in enumerate(KEYS[:4]):
            (got,) = world.get(peer, key, number)
            assert (got.operation, got.number, got.value) == (GET, number, 2.0 + number)


@pytest.mark.parametrize("system", OVER)
def test_a_key_without_a_value_is_told_to_have_none(system: str) -> None:
    world = ValuesWorld(system, 8, replicas=3)
    (got,) = world.get(2, KEYS[0], 5)
    assert (got.number, got.value) == (5, 0.0)


def test_an_earlier_version_does_not_replace_a_later_one() -> None:
    world = ValuesWorld("values-chord", 8, replicas=3)
    world.put(0, KEYS[0], version=2)
    world.put(1, KEYS[0], version=1)
    assert {world.version(peer, KEYS[0]) for peer in world.holders(KEYS[0])} == {2}


def test_a_holder_on_the_way_answers_unless_the_root_alone_may() -> None:
    for on_the_way in (True, False):
        world = ValuesWorld("values-pastry", 20, replicas=20, answer_on_the_way=on_the_way)
        world.put(0, KEYS[0])
        root = world.closest(KEYS[0], 1, RING.distance)[0]
        other = next(peer for peer in world.up if peer != root)
        for environment in world.world.environments.values():
            environment.recorded.clear()
        (got,) = world.get(other, KEYS[0])
        served = [
            peer
            for peer, environment in world.world.environments.items()
            if any(told.name == SERVED for told in environment.recorded)
        ]
        assert served == [other if on_the_way else root]
        assert (got.hops == 0) is on_the_way


def test_a_peer_that_need_not_hold_its_copy_does_not_answer() -> None:
    world = ValuesWorld("values-pastry", 20, replicas=3)
    world.put(0, KEYS[0], version=2)
    far = world.closest(KEYS[0], 20, RING.distance)[-1]
    store = world.store(far)
    store._copies.keep(StoredValue(KEYS[0], 1, b"old"), 0.0)  # type: ignore[attr-defined]
    (got,) = world.get(far, KEYS[0])
    assert got.value == 2.0


@pytest.mark.parametrize("system", OVER)
def test_copies_come_back_after_most_holders_crashed(system: str) -> None:
    world = ValuesWorld(system, 20, replicas=4, repair="10 s")
    for number, key in enumerate(KEYS):
        world.put(number, key)
    gone = world.closest(KEYS[0], 4, OVER[system].distance)[:3]
    world.crash(gone)
    world.run(120)
    for key in KEYS:
        assert world.holders(key) >= set(world.closest(key, 4, OVER[system].distance)), key
    (got,) = world.get(world.up[0], KEYS[0])
    assert got.value == 1.0


@pytest.mark.parametrize("system", OVER)
def test_newcomers_get_the_values_next_to_them_and_others_let_go_of_them(system: str) -> None:
    world = ValuesWorld(system, 24, started=8, replicas=3, repair="10 s")
    for number, key in enumerate(KEYS):
        world.put(number % 8, key)
    world.join(range(8, 24))
    world.run(160)
    for key in KEYS:
        assert world.holders(key) == set(world.closest(key, 3, OVER[system].distance)), key


def test_the_last_copy_moves_on_when_its_holder_leaves() -> None:
    world = ValuesWorld("values-chord", 10, replicas=1)
    world.put(0, KEYS[0])
    (holder,) = world.holders(KEYS[0])
    world.world.protocols[holder].stop(graceful=True)
    world.world.exchange()
    world.crash([holder])
    world.run(20)
    (got,) = world.get(world.up[0], KEYS[0])
    assert got.value == 1.0


def test_a_root_that_lacks_its_value_asks_the_other_holders() -> None:
    world = ValuesWorld("values-chord", 12, replicas=3)
    world.put(0, KEYS[0])
    root, *others = world.closest(KEYS[0], 3, ClockwiseRing(128).distance)
    store = world.store(root)
    store._copies.drop(KEYS[0])  # type: ignore[attr-defined]
    asks = next(peer for peer in world.up if peer not in (root, *others))
    (got,) = world.get(asks, KEYS[0])
    assert got.value == 1.0
    assert world.version(root, KEYS[0]) == 1


def test_a_request_without_an_answer_is_routed_again_and_given_up() -> None:
    environment = FakeEnvironment(3)
    overlay = NotedOverlay(environment.channel("overlay"))
    requests = OwnRequests(environment, overlay, 5.0, 3)
    request = GetRequest(9, 3, KEYS[0])
    requests.ask(9, KEYS[0], request)
    environment.advance(4.9)
    assert len(overlay.calls) == 1
    environment.advance(60.0)
    assert overlay.calls == 3 * [("route", KEYS[0], request)]
    assert not requests.answered(9)
    requests.ask(9, KEYS[0], request)
    assert requests.answered(9)
    environment.advance(60.0)
    assert len(overlay.calls) == 4


def test_versions_that_differ_meet_in_the_later_one() -> None:
    """A holder that was cut off from an update, or its root, learns of it at the next look."""
    world = ValuesWorld("values-chord", 12, replicas=3, repair="10 s")
    world.put(0, KEYS[0])
    root, second, third = world.closest(KEYS[0], 3, ClockwiseRing(128).distance)
    kept = world.store(second)._copies  # type: ignore[attr-defined]
    value = kept.get(KEYS[0]).value
    kept.keep(type(value)(KEYS[0], 7, b"later"), 0.0)
    world.run(60)
    assert [world.version(peer, KEYS[0]) for peer in (root, second, third)] == [7, 7, 7]


@pytest.mark.parametrize(
    "message",
    [StoreCopy(None), RepairCopy(None)],
    ids=lambda message: message.NAME,
)
def test_messages_without_their_value_are_dropped(message: StoreCopy | RepairCopy) -> None:
    world = ValuesWorld("values-chord", 3, replicas=2)
    environment = world.world.environments[0]
    environment.hand_over(1, message, request=1 if isinstance(message, StoreCopy) else 0)
    assert any(message.NAME in told for told in environment.dropped)


def test_routed_messages_without_their_parts_are_dropped() -> None:
    world = ValuesWorld("values-chord", 3, replicas=2)
    store = world.store(0)
    contact = type(world.store(0)._holders.of(1)[0])(1, 1)  # type: ignore[attr-defined]
    for message in (PutRequest(0, 1, None), CopyOffer(1, None)):
        store.deliver(5, message, contact, 1)  # type: ignore[attr-defined]
        assert any(message.NAME in told for told in world.world.environments[0].dropped)


def test_an_inventory_is_answered_by_what_is_lacking_and_what_is_newer() -> None:
    world = ValuesWorld("values-chord", 3, replicas=3)
    world.put(0, KEYS[0], version=2)
    environment = world.world.environments[1]
    asked = [HeldVersion(KEYS[0], 1), HeldVersion(KEYS[1], 1)]
    environment.hand_over(2, Inventory(asked), request=1)
    reply = environment.outbox[-1].message
    assert [held.key for held in reply.lacking] == [KEYS[1]]  # type: ignore[attr-defined]
    assert [(held.key, held.version) for held in reply.newer] == [(KEYS[0], 2)]  # type: ignore[attr-defined]


def test_a_completion_is_delivered_once_however_many_answers_come() -> None:
    world = ValuesWorld("values-chord", 6, replicas=2)
    world.put(0, KEYS[0])
    store = world.store(3)
    environment = world.world.environments[3]
    environment.delivered.clear()
    store.get(4, KEYS[0])
    for _ in range(2):
        store.deliver(KEYS[0], GetRequest(4, 3, KEYS[0]), store._holders.of(1)[0], 0)  # type: ignore[attr-defined]
    world.run(4)
    assert [type(each) for each in environment.delivered] == [Completion]
