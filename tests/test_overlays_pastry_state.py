"""What a Pastry peer knows: leaf set, routing table, round trips, and its next hop."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from fake_environment import FakeEnvironment
from hypothesis import given
from hypothesis import strategies as st

from emulator.contract.identifiers import BITS, RING, hash_of_peer
from emulator.contract.protocol import Contact
from emulator.protocols.overlays.pastry import PastryParameters
from emulator.protocols.overlays.pastry.leaf_set import LeafSet
from emulator.protocols.overlays.pastry.round_trip import Pings, RoundTrips
from emulator.protocols.overlays.pastry.routing_state import RoutingState
from emulator.protocols.overlays.pastry.routing_table import RoutingTable
from trellis.v1.pastry import Ping, Pong

MASK, HALF, SPACE = RING.mask, RING.size // 2, RING.size
PEERS = st.sets(st.integers(1, 500), max_size=60)
KEYS = st.integers(0, SPACE - 1)
OWN = hash_of_peer(0)


def contact(peer: int) -> Contact:
    return Contact(peer, hash_of_peer(peer))


def contacts(peers: Iterable[int]) -> list[Contact]:
    return [contact(peer) for peer in peers]


def numbers(found: Iterable[Contact]) -> list[int]:
    return [each.peer for each in found]


def clockwise(peer: int) -> int:
    return (hash_of_peer(peer) - OWN) & MASK


def place(a: int, b: int) -> int:
    """Return how many hexadecimal digits are in common."""
    return next((i for i, (x, y) in enumerate(zip(f"{a:032x}", f"{b:032x}", strict=True)) if x != y), 32)


@given(peers=st.lists(st.integers(1, 500), max_size=60))
def test_leaves_are_the_nearest_of_each_half_in_any_order_of_arrival(peers: list[int]) -> None:
    leaves = LeafSet(OWN, 8)
    for peer in peers:
        leaves.add(contact(peer))
    right = sorted((p for p in set(peers) if clockwise(p) <= HALF), key=clockwise)[:4]
    left = sorted((p for p in set(peers) if clockwise(p) > HALF), key=clockwise)[-4:]
    assert numbers(leaves) == left + right
    assert numbers(LeafSet(OWN, 8, contacts(peers))) == numbers(leaves)


@given(peers=PEERS, gone=PEERS)
def test_leaves_that_are_removed_make_room(peers: set[int], gone: set[int]) -> None:
    leaves = LeafSet(OWN, 8, contacts(peers))
    was_in = {peer: contact(peer) if peer in leaves else None for peer in gone}
    assert {peer: leaves.remove(peer) for peer in gone} == was_in
    for peer in peers - gone:
        leaves.add(contact(peer))
    assert numbers(leaves) == numbers(LeafSet(OWN, 8, contacts(peers - gone)))


@given(before=PEERS, told=PEERS)
def test_newcomers_are_those_that_would_be_leaves_in_the_end(before: set[int], told: set[int]) -> None:
    leaves = LeafSet(OWN, 8, contacts(before))
    after = LeafSet(OWN, 8, contacts(before | told))
    assert set(numbers(leaves.newcomers(contacts(told)))) == set(numbers(after)) - set(numbers(leaves))


@given(peers=PEERS, key=KEYS)
def test_a_covered_key_belongs_to_the_closest_of_all(peers: set[int], key: int) -> None:
    leaves = LeafSet(OWN, 8, contacts(peers))
    if leaves.covers(key):
        closest = leaves.closest(key)
        best = min(RING.distance(hash_of_peer(peer), key) for peer in {0, *peers})
        assert RING.distance((closest or contact(0)).identifier, key) == best


def test_keys_beyond_the_last_leaf_are_not_covered() -> None:
    leaves = LeafSet(OWN, 4, contacts(range(1, 40)))
    first, *_, last = (leaf.identifier for leaf in leaves)
    assert leaves.covers(first) and leaves.covers(last) and leaves.covers(OWN)
    assert not leaves.covers((first - 1) & MASK) and not leaves.covers((last + 1) & MASK)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_a_slot_is_found_by_the_digits_in_common(bits: int) -> None:
    table = RoutingTable(OWN, bits)
    for peer in range(1, 100):
        table.put(contact(peer))
    for peer in range(1, 100):
        identifier = hash_of_peer(peer)
        row, digit = table.place(identifier)
        top = BITS - row * bits
        assert identifier >> top == OWN >> top
        assert (identifier >> (top - bits)) % (1 << bits) == digit != (OWN >> (top - bits)) % (1 << bits)
        holder = table.lookup(identifier)
        assert holder is not None and table.place(holder.identifier) == (row, digit)
    assert sorted(e.peer for row in range(table.rows) for e in table.row(row)) == sorted(numbers(table))


def test_a_slot_holds_one_peer() -> None:
    table = RoutingTable(OWN, 4)
    alike = [p for p in range(1, 200) if table.place(hash_of_peer(p)) == table.place(hash_of_peer(1))]
    assert table.put(contact(alike[0])) is None
    assert table.put(contact(alike[1])) == contact(alike[0])
    assert numbers(table) == [alike[1]]
    assert table.remove(alike[0]) is None and table.remove(alike[1]) == contact(alike[1])
    assert table.lookup(hash_of_peer(1)) is None and len(table) == 0


def test_a_time_out_follows_the_round_trips() -> None:
    trips = RoundTrips(PastryParameters())
    assert trips.mean(1) == math.inf and trips.timeout(1) == 0.5
    trips.sample(1, 0.2)
    assert trips.timeout(1) == pytest.approx(0.2 + 4 * 0.1)
    for _ in range(60):
        trips.sample(1, 0.2)
    assert trips.timeout(1) == pytest.approx(0.2 + 0.1)
    trips.sample(1, 1.0)
    assert trips.mean(1) == pytest.approx(0.3) and trips.timeout(1) > 1.0


def test_a_ping_is_repeated_only_when_no_answer_may_come_any_more() -> None:
    environment = FakeEnvironment(0)
    answered: list[tuple[int, float]] = []
    pings = Pings(
        environment, PastryParameters(), lambda peer, pong, seconds: answered.append((peer, seconds))
    )
    pings.send(1)
    environment.advance(2.9)
    pings.send(1)
    assert len(environment.take(Ping)) == 1
    environment.advance(0.1)
    pings.send(1)
    [sent] = environment.outbox
    environment.advance(0.2)
    environment.hand_over(1, Pong(), request=-sent.request)
    assert answered == [(1, pytest.approx(0.2))]
    pings.send(1)
    assert len(environment.take(Ping)) == 2


def test_only_the_peers_measured_last_are_remembered() -> None:
    trips = RoundTrips(PastryParameters(round_trips=16))
    for peer in range(16):
        trips.sample(peer, 0.1)
    trips.sample(0, 0.1)
    trips.sample(16, 0.1)
    assert trips.mean(1) == math.inf
    assert trips.mean(0) < 1 and trips.mean(16) < 1


class Changes:
    """What a state told of: leaves that came or went, and how often the routes changed."""

    def __init__(self) -> None:
        self.leaves: list[tuple[int, bool]] = []
        self.routes = 0

    def leaf(self, leaf: Contact, joined: bool) -> None:
        self.leaves.append((leaf.peer, joined))

    def route(self) -> None:
        self.routes += 1


def state_of(environment: FakeEnvironment, leaves: int, changes: Changes) -> RoutingState:
    return RoutingState(
        environment,
        PastryParameters(leaf_set=leaves),
        OWN,
        leaf_changed=changes.leaf,
        routes_changed=changes.route,
    )


def knowing(peers: set[int], changes: Changes | None = None) -> RoutingState:
    state = state_of(FakeEnvironment(0), 4, changes or Changes())
    for peer in sorted(peers):
        state.add_leaf(contact(peer))
        state.offer_slot(contact(peer))
    return state


@given(peers=PEERS, key=KEYS)
def test_each_hop_is_closer_by_digits_or_by_distance(peers: set[int], key: int) -> None:
    hop = knowing(peers).next_hop(key)
    if hop is not None:
        other = hop.identifier
        nearer = RING.distance(other, key) < RING.distance(OWN, key)
        assert place(other, key) > place(OWN, key) or nearer


@given(peers=PEERS, key=KEYS)
def test_a_peer_that_knows_none_closer_is_the_end(peers: set[int], key: int) -> None:
    state = knowing(peers)
    if state.next_hop(key) is None:
        assert all(
            place(hash_of_peer(peer), key) < place(OWN, key)
            or RING.distance(hash_of_peer(peer), key) >= RING.distance(OWN, key)
            for peer in state.members
        )


@given(peers=PEERS, key=KEYS)
def test_what_is_avoided_is_not_the_next_hop(peers: set[int], key: int) -> None:
    state = knowing(peers)
    avoided: list[int] = []
    while (hop := state.next_hop(key, avoided)) is not None:
        assert hop.peer not in avoided
        avoided.append(hop.peer)


def test_a_suspect_is_passed_over_in_the_table_but_not_as_a_root() -> None:
    state = knowing(set(range(1, 60)))
    entry = next(entry for entry in state.table if entry.peer not in state.leaf_set)
    leaf = next(iter(state.leaf_set))
    assert state.next_hop(entry.identifier) == entry
    for suspect in (entry, leaf):
        state.suspect(suspect.peer)
    assert state.next_hop(entry.identifier) != entry
    assert state.next_hop(leaf.identifier) == leaf
    state.trust(entry.peer)
    assert state.next_hop(entry.identifier) == entry


def test_the_nearest_candidate_gets_the_slot() -> None:
    state = knowing(set())
    slot = state.table.place(hash_of_peer(1))
    one, two, three = [p for p in range(1, 400) if state.table.place(hash_of_peer(p)) == slot][:3]
    state.offer_slot(contact(one))
    state.round_trips.sample(two, 0.2)
    state.offer_slot(contact(two))
    assert numbers(state.table) == [two]
    state.round_trips.sample(three, 0.3)
    state.offer_slot(contact(three))
    assert numbers(state.table) == [two]
    assert one not in state.members and three not in state.members


def test_nobody_else_is_believed_to_have_the_own_identifier() -> None:
    state = state_of(FakeEnvironment(0), 16, Changes())
    thief = Contact(7, OWN)
    assert state.believable([thief, contact(1)]) == [contact(1)]
    state.offer_slot(thief)
    assert 7 not in state.table


def test_the_dead_are_not_believed_in_until_they_speak() -> None:
    environment = FakeEnvironment(0)
    state = state_of(environment, 16, Changes())
    state.add_leaf(contact(1))
    state.remove(1)
    assert 1 not in state.members and numbers(state.failed()) == [1]
    assert numbers(state.believable(contacts([0, 1, 2]))) == [2]
    state.hear(1)
    assert numbers(state.believable(contacts([1]))) == [1]
    state.remove(1)
    environment.advance(61)
    assert numbers(state.believable(contacts([1]))) == [1]


def test_a_death_that_is_noticed_twice_can_still_be_told() -> None:
    state = knowing({1})
    state.remove(1)
    state.remove(1)
    assert state.failed() == [contact(1)]
    state.remove(2)
    assert state.failed() == [contact(1)] and state.has_failed(2)


def test_a_peer_that_has_another_identifier_now_takes_its_new_places() -> None:
    changes = Changes()
    state = knowing({1, 2, 3}, changes)
    moved = Contact(1, hash_of_peer(77))
    assert state.meet(1, moved.identifier) == moved and 1 not in state.members
    assert changes.leaves[-1] == (1, False)
    state.add_leaf(moved)
    state.offer_slot(moved)
    assert state.leaf_set.contact(1) == moved
    assert state.next_hop(moved.identifier) == moved
    assert [entry for entry in state.table if entry.peer == 1] in ([], [moved])


def test_what_others_say_of_a_known_peer_does_not_move_it() -> None:
    state = knowing({1, 2, 3})
    assert not state.leaf_set.newcomers([Contact(1, hash_of_peer(77))])
    assert state.meet(1, hash_of_peer(1)) is state.members[1]


def test_changes_of_what_decides_the_next_hop_are_told() -> None:
    changes = Changes()
    state = knowing({1, 2, 3}, changes)
    before = changes.routes
    state.add_leaf(contact(4))
    added = changes.routes
    state.add_leaf(contact(4))
    assert before < added == changes.routes
    state.remove(4)
    removed = changes.routes
    state.suspect(1)
    suspected = changes.routes
    state.trust(1)
    assert added < removed < suspected < changes.routes
