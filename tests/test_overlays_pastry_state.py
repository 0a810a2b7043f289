"""What a Pastry peer knows: leaf set, routing table, neighbourhood set, round trips, and its next hop."""

from __future__ import annotations

import math

import pytest
from fake_environment import FakeEnvironment
from hypothesis import given
from hypothesis import strategies as st
from trellis.v1.pastry_pb2 import Ping, Pong

from emulator import identifiers
from emulator.identifiers import HALF, MASK, SPACE
from emulator.overlays.pastry import PastryParameters
from emulator.overlays.pastry.leaf_set import LeafSet
from emulator.overlays.pastry.neighbourhood import Neighbourhood
from emulator.overlays.pastry.round_trip import Pings, RoundTrips
from emulator.overlays.pastry.routing_state import RoutingState
from emulator.overlays.pastry.routing_table import RoutingTable

PEERS = st.sets(st.integers(1, 500), max_size=60)
KEYS = st.integers(0, SPACE - 1)
OWN = identifiers.of_peer(0)


def clockwise(peer: int) -> int:
    return (identifiers.of_peer(peer) - OWN) & MASK


def place(a: int, b: int) -> int:
    """Hexadecimal digits in common."""
    return next((i for i, (x, y) in enumerate(zip(f"{a:032x}", f"{b:032x}", strict=True)) if x != y), 32)


@given(peers=st.lists(st.integers(1, 500), max_size=60))
def test_leaves_are_the_nearest_of_each_half_in_any_order_of_arrival(peers: list[int]) -> None:
    leaves = LeafSet(OWN, 8)
    for peer in peers:
        leaves.add(peer)
    right = sorted((p for p in set(peers) if clockwise(p) <= HALF), key=clockwise)[:4]
    left = sorted((p for p in set(peers) if clockwise(p) > HALF), key=clockwise)[-4:]
    assert list(leaves) == left + right
    assert set(LeafSet(OWN, 8, peers)) == set(leaves)


@given(peers=PEERS, gone=PEERS)
def test_leaves_that_are_removed_make_room(peers: set[int], gone: set[int]) -> None:
    leaves = LeafSet(OWN, 8, peers)
    was_in = {peer: peer in leaves for peer in gone}
    assert {peer: leaves.remove(peer) for peer in gone} == was_in
    for peer in peers - gone:
        leaves.add(peer)
    assert set(leaves) == set(LeafSet(OWN, 8, peers - gone))


@given(before=PEERS, told=PEERS)
def test_newcomers_are_those_that_would_be_leaves_in_the_end(before: set[int], told: set[int]) -> None:
    leaves = LeafSet(OWN, 8, before)
    assert set(leaves.newcomers(told)) == set(LeafSet(OWN, 8, before | told)) - set(leaves)


@given(peers=PEERS, key=KEYS)
def test_a_covered_key_belongs_to_the_closest_of_all(peers: set[int], key: int) -> None:
    leaves = LeafSet(OWN, 8, peers)
    if leaves.covers(key):
        closest = leaves.closest(key)
        best = min(identifiers.distance(identifiers.of_peer(peer), key) for peer in {0, *peers})
        assert identifiers.distance(identifiers.of_peer(closest or 0), key) == best


def test_keys_beyond_the_last_leaf_are_not_covered() -> None:
    leaves = LeafSet(OWN, 4, range(1, 40))
    first, *_, last = (identifiers.of_peer(peer) for peer in leaves)
    assert leaves.covers(first) and leaves.covers(last) and leaves.covers(OWN)
    assert not leaves.covers((first - 1) & MASK) and not leaves.covers((last + 1) & MASK)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_a_slot_is_found_by_the_digits_in_common(bits: int) -> None:
    table = RoutingTable(OWN, bits)
    for peer in range(1, 100):
        table.put(peer)
    for peer in range(1, 100):
        identifier = identifiers.of_peer(peer)
        row, digit = table.place(identifier)
        top = identifiers.BITS - row * bits
        assert identifier >> top == OWN >> top
        assert (identifier >> (top - bits)) % (1 << bits) == digit != (OWN >> (top - bits)) % (1 << bits)
        holder = table.lookup(identifier)
        assert holder is not None and table.place(identifiers.of_peer(holder)) == (row, digit)
    assert sorted(peer for row in range(table.rows) for peer in table.row(row)) == sorted(table)


def test_a_slot_holds_one_peer() -> None:
    table = RoutingTable(OWN, 4)
    alike = [
        p for p in range(1, 200) if table.place(identifiers.of_peer(p)) == table.place(identifiers.of_peer(1))
    ]
    assert table.put(alike[0]) is None
    assert table.put(alike[1]) == alike[0]
    assert list(table) == [alike[1]]
    assert not table.remove(alike[0]) and table.remove(alike[1])
    assert table.lookup(identifiers.of_peer(1)) is None and len(table) == 0


@given(offers=st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1)), max_size=30))
def test_the_neighbourhood_set_keeps_the_nearest(offers: list[tuple[int, float]]) -> None:
    near = Neighbourhood(20)
    small = Neighbourhood(3)
    for peer, round_trip in offers:
        assert near.offer(peer, round_trip) is None
        small.offer(peer, round_trip)
    last = dict(offers)
    assert list(near) == [peer for _, peer in sorted((rtt, peer) for peer, rtt in last.items())]
    assert len(small) == min(3, len(last))
    if len(offers) == len(last):
        assert sorted(last[peer] for peer in small) == sorted(last.values())[:3]


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


def test_a_ping_is_repeated_after_the_time_out_however_that_is_rounded() -> None:
    for tenths in range(200):
        environment = FakeEnvironment(0)
        environment.now = tenths / 10
        pings = Pings(environment, PastryParameters(), answer=lambda *_: Pong(), answered=lambda *_: None)
        for _ in range(3):
            pings.send(1)
            pings.send(1)
            environment.now += PastryParameters().probe_timeout
        assert len(environment.take(Ping)) == 3


def test_only_the_peers_measured_last_are_remembered() -> None:
    trips = RoundTrips(PastryParameters(round_trips=16))
    for peer in range(16):
        trips.sample(peer, 0.1)
    trips.sample(0, 0.1)
    trips.sample(16, 0.1)
    assert trips.mean(1) == math.inf
    assert trips.mean(0) < 1 and trips.mean(16) < 1


def knowing(peers: set[int], leaves: int = 4) -> RoutingState:
    state = RoutingState(FakeEnvironment(0), PastryParameters(leaf_set=leaves), lambda peer, joined: None)
    for peer in sorted(peers):
        state.add_leaf(peer)
        state.offer_slot(peer)
    return state


@given(peers=PEERS, key=KEYS)
def test_each_hop_is_closer_by_digits_or_by_distance(peers: set[int], key: int) -> None:
    hop = knowing(peers).next_hop(key)
    if hop is not None:
        other = identifiers.of_peer(hop)
        nearer = identifiers.distance(other, key) < identifiers.distance(OWN, key)
        assert place(other, key) > place(OWN, key) or nearer


@given(peers=PEERS, key=KEYS)
def test_a_peer_that_knows_none_closer_is_the_end(peers: set[int], key: int) -> None:
    state = knowing(peers)
    if state.next_hop(key) is None:
        assert all(
            place(identifiers.of_peer(peer), key) < place(OWN, key)
            or identifiers.distance(identifiers.of_peer(peer), key) >= identifiers.distance(OWN, key)
            for peer in state.members()
        )


@given(peers=PEERS, key=KEYS)
def test_what_is_avoided_is_not_the_next_hop(peers: set[int], key: int) -> None:
    state = knowing(peers)
    avoided: list[int] = []
    while (hop := state.next_hop(key, avoided)) is not None:
        assert hop not in avoided
        avoided.append(hop)


def test_a_suspect_is_passed_over_in_the_table_but_not_as_a_root() -> None:
    state = knowing(set(range(1, 60)))
    entry = next(peer for peer in state.table if peer not in state.leaf_set)
    leaf = next(iter(state.leaf_set))
    assert state.next_hop(identifiers.of_peer(entry)) == entry
    state.suspected |= {entry, leaf}
    assert state.next_hop(identifiers.of_peer(entry)) != entry
    assert state.next_hop(identifiers.of_peer(leaf)) == leaf


def test_the_nearest_candidate_gets_the_slot() -> None:
    state = knowing(set())
    slot = state.table.place(identifiers.of_peer(1))
    one, two, three = [p for p in range(1, 400) if state.table.place(identifiers.of_peer(p)) == slot][:3]
    state.offer_slot(one)
    state.round_trips.sample(two, 0.2)
    state.offer_slot(two)
    assert list(state.table) == [two]
    state.round_trips.sample(three, 0.3)
    state.offer_slot(three)
    assert list(state.table) == [two]
    assert one not in state and three not in state


def test_the_dead_are_not_believed_in_until_they_speak() -> None:
    environment = FakeEnvironment(0)
    state = RoutingState(environment, PastryParameters(), lambda peer, joined: None)
    state.add_leaf(1)
    state.remove(1)
    assert 1 not in state and state.unknown([0, 1, 2]) == [2] and state.failed() == [1]
    state.hear(1)
    assert state.unknown([1]) == [1]
    state.remove(1)
    environment.advance(61)
    assert state.unknown([1]) == [1]


def test_the_version_changes_with_what_decides_the_next_hop() -> None:
    state = knowing({1, 2, 3})
    versions = [state.version]
    state.add_leaf(4)
    versions.append(state.version)
    state.add_leaf(4)
    assert versions[-1] == state.version
    state.remove(4)
    versions.append(state.version)
    assert versions == sorted(set(versions))
