"""Kademlia's own store of values: STORE at the k closest, FIND_VALUE, caching, republishing, expiry."""

from __future__ import annotations

from typing import Any

from values_world import ValuesWorld

from emulator.contract.identifiers import Xor, hash_of, hash_of_peer
from emulator.contract.value_service import GET, PUT
from emulator.protocols.overlays.kademlia.node_lookup import NodeLookup
from trellis.v1.kademlia import FindNode, FindValue, FoundNodes, FoundValue, StoreValue
from trellis.v1.values import StoredValue

KEYS = [hash_of(f"value {number}") for number in range(10)]
DISTANCE = Xor(128).distance


def world(peers: int = 30, started: int | None = None, **fields: Any) -> ValuesWorld:
    overlay = {"k": 4, "retries": 0, "refresh": "1 h", "timeout": "2 s"}
    return ValuesWorld("values-kademlia", peers, started, overlay=overlay, **fields)


def test_a_put_stores_the_value_at_the_k_closest_peers() -> None:
    tested = world()
    for number, key in enumerate(KEYS):
        (done,) = tested.put(number, key, number=number)
        assert (done.operation, done.number, done.value) == (PUT, number, 4.0)
        assert tested.holders(key) == set(tested.closest(key, 4, DISTANCE))


def test_every_peer_finds_every_value_and_nothing_where_there_is_none() -> None:
    tested = world(cache=False)
    for number, key in enumerate(KEYS[:3]):
        tested.put(number, key, version=number + 1)
    for peer in tested.up:
        for number, key in enumerate(KEYS[:3]):
            (got,) = tested.get(peer, key, number)
            assert (got.operation, got.number, got.value) == (GET, number, number + 1.0)
        (none,) = tested.get(peer, KEYS[9])
        assert none.value == 0.0


def test_a_get_leaves_a_copy_at_the_closest_peer_that_it_found_without_one() -> None:
    tested = world(60)
    tested.put(0, KEYS[0])
    before = tested.holders(KEYS[0])
    far = [peer for peer in tested.closest(KEYS[0], 60, DISTANCE) if peer not in before][::-1]
    for peer in far[:20]:
        tested.get(peer, KEYS[0])
    cached = tested.holders(KEYS[0]) - before
    assert cached
    for peer in cached:
        kept = tested.store(peer)._kept.get(KEYS[0])  # type: ignore[attr-defined]
        assert kept.cached


def test_a_cached_copy_lives_half_as_long_for_each_closer_peer_beyond_the_k_closest() -> None:
    tested = world(expiry="1000 s")
    key = KEYS[0]
    lifetimes = {}
    for place, peer in enumerate(tested.closest(key, 30, DISTANCE)):
        kept = tested.store(peer)._kept  # type: ignore[attr-defined]
        known = tested.store(peer)._kademlia.known.table  # type: ignore[attr-defined]
        own = hash_of_peer(peer) ^ key
        closer = sum(each.contact.identifier ^ key < own for each in known)
        kept.keep(StoredValue(key, 1, b""), 0.0, True)
        copy = kept.get(key)
        now = tested.world.environments[peer].now
        lifetimes[place] = (copy.expires - now) / 1000.0
        assert lifetimes[place] == 0.5 ** max(0, closer - 3)
    assert lifetimes[0] == 1.0
    assert min(lifetimes.values()) < 0.5


def test_values_expire_and_whoever_put_them_puts_them_again() -> None:
    tested = world(12, expiry="100 s", republish="30 s")
    tested.put(0, KEYS[0])
    tested.run(150)
    assert tested.holders(KEYS[0]) == set(tested.closest(KEYS[0], 4, DISTANCE))
    tested.crash([0])
    tested.run(220)
    assert not tested.holders(KEYS[0])


def test_holders_republish_so_that_the_k_closest_hold_the_value_after_crashes() -> None:
    tested = world(40, republish="30 s")
    publisher = tested.closest(KEYS[0], 40, DISTANCE)[-1]
    tested.put(publisher, KEYS[0])
    gone = [peer for peer in tested.closest(KEYS[0], 4, DISTANCE)[:3] if peer != publisher]
    tested.crash(gone)
    tested.run(120)
    assert tested.holders(KEYS[0]) >= set(tested.closest(KEYS[0], 4, DISTANCE))


def test_a_holder_leaves_out_what_others_have_stored_with_it_lately() -> None:
    tested = world(20, republish="30 s")
    tested.put(0, KEYS[0])
    told, alone = sorted(tested.holders(KEYS[0]) - {0})[:2]
    again = StoreValue(hash_of_peer(0), StoredValue(KEYS[0], 1, bytes(3)), 10, False, False)
    senders = []
    for _ in range(12):
        tested.world.environments[told].hand_over(0, again, "overlay", 1)
        for environment in tested.world.environments.values():
            environment.advance(5.0)
        senders += [
            peer
            for peer, environment in tested.world.environments.items()
            for sent in environment.fake.empty_outbox()
            if isinstance(sent.message, FindNode) and sent.message.key == KEYS[0]
        ]
    assert told not in senders
    assert alone in senders


def test_a_newcomer_is_given_the_values_that_it_is_the_closest_to() -> None:
    tested = world(40, started=20)
    for number, key in enumerate(KEYS):
        tested.put(number, key)
    tested.join(range(20, 40))
    tested.run(30)
    for key in KEYS:
        closest = tested.closest(key, 1, DISTANCE)[0]
        assert closest in tested.holders(key), key


def test_a_reply_with_another_value_counts_as_none() -> None:
    tested = world(6)
    store: Any = tested.store(0)
    found: list[int] = []
    ended: list[int] = []
    lookup = NodeLookup(KEYS[0], lambda _: ended.append(1), value_found=lambda *_: found.append(1))
    store._kademlia.lookups.begin(lookup)
    environment = tested.world.environments[0]
    for sent in environment.fake.empty_outbox():
        wrong = FoundValue(hash_of_peer(sent.peer), StoredValue(KEYS[1], 1, b""), 0)
        environment.hand_over(sent.peer, wrong, "overlay", -sent.request)
    assert not found
    assert any("FoundValue" in told for told in environment.dropped)


def test_a_question_for_a_value_is_answered_by_it_or_by_closer_peers() -> None:
    tested = world(10)
    tested.put(0, KEYS[0], version=3)
    holder = next(iter(tested.holders(KEYS[0])))
    environment = tested.world.environments[holder]
    environment.hand_over(1, FindValue(KEYS[0], hash_of_peer(1)), "overlay", 1)
    reply: Any = environment.outbox[-1].message
    assert (type(reply), reply.value.version) == (FoundValue, 3)
    environment.hand_over(1, FindValue(KEYS[5], hash_of_peer(1)), "overlay", 2)
    assert isinstance(environment.outbox[-1].message, FoundNodes)
