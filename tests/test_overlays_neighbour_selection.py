"""Vitis's Algorithm 4: who of the known peers becomes a neighbour, and as what."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.gossip.descriptor import Descriptor, Sighting
from emulator.identifiers import HALF, SPACE, distance, of_peer
from emulator.overlays.neighbour_selection import (
    FRIEND,
    PREDECESSOR,
    SMALL_WORLD,
    SUCCESSOR,
    NeighbourSelection,
)

SELF = 0
profiles = st.dictionaries(st.integers(1, 500), st.sets(st.integers(0, 20), max_size=8), max_size=40)
draws = st.sampled_from(["distance", "candidates"])


def descriptor(peer: int, topics: Iterable[int] = ()) -> Descriptor:
    return Descriptor.make(peer, 1, dict.fromkeys(topics, 1.0))


def candidates(profiles: dict[int, set[int]]) -> dict[int, Sighting]:
    return {peer: (0.0, descriptor(peer, topics)) for peer, topics in profiles.items()}


def strangers(peers: Iterable[int]) -> dict[int, Sighting]:
    return candidates({peer: set() for peer in peers})


def selection(size: int, links: int, draw: str = "distance", seed: int = 1) -> NeighbourSelection:
    return NeighbourSelection(descriptor(SELF), size, links, draw, random.Random(seed))


def peers(sightings: Iterable[Sighting]) -> list[int]:
    return [known.peer for _, known in sightings]


def clockwise(peer: int) -> int:
    return (of_peer(peer) - of_peer(SELF)) % SPACE


@given(profiles, draws)
def test_ring_neighbours_are_the_nearest_of_all_candidates(known: dict[int, set[int]], draw: str) -> None:
    chosen = selection(15, 1, draw).select(descriptor(SELF), candidates(known), {})
    assert peers(chosen[SUCCESSOR]) == sorted(known, key=clockwise)[:1]
    assert peers(chosen[PREDECESSOR]) == (sorted(known, key=clockwise)[-1:] if len(known) > 1 else [])


@given(profiles, draws, st.integers(3, 15), st.data())
def test_a_table_is_full_and_never_more_than_full(
    known: dict[int, set[int]], draw: str, size: int, data: st.DataObject
) -> None:
    links = data.draw(st.integers(0, size - 2))
    chosen = selection(size, links, draw).select(descriptor(SELF), candidates(known), {})
    selected = [peer for sightings in chosen.values() for peer in peers(sightings)]
    assert len(selected) == len(set(selected)) == min(size, len(known))
    assert len(chosen[SMALL_WORLD]) <= links
    assert len(chosen[FRIEND]) <= size - 2 - links


@given(profiles, st.sets(st.integers(0, 20), max_size=8), draws)
def test_friends_are_the_most_alike_of_those_that_are_left(
    known: dict[int, set[int]], interests: set[int], draw: str
) -> None:
    own = descriptor(SELF, interests)
    chosen = selection(8, 2, draw).select(own, candidates(known), {})
    friends = peers(chosen[FRIEND])
    elsewhere = {peer for kind, s in chosen.items() if kind != FRIEND for peer in peers(s)}
    left = {peer: own.utility(descriptor(peer, known[peer])) for peer in known.keys() - elsewhere}
    assert sorted((left[peer] for peer in friends), reverse=True) == sorted(left.values(), reverse=True)[:4]


def test_among_equals_the_neighbours_of_now_stay_friends() -> None:
    known = strangers(range(1, 60))
    for start in (1, 20, 40):
        current = dict.fromkeys(range(start, start + 12))
        chosen = selection(15, 1).select(descriptor(SELF), known, current)
        elsewhere = {peer for kind, s in chosen.items() if kind != FRIEND for peer in peers(s)}
        assert current.keys() - elsewhere <= set(peers(chosen[FRIEND]))


def test_a_better_friend_replaces_a_neighbour_of_now() -> None:
    known = strangers(range(1, 40)) | candidates({77: {1, 2}})
    own = descriptor(SELF, {1, 2})
    current = dict.fromkeys(range(1, 40))
    chosen = selection(5, 0).select(own, known, current)
    everyone = [peer for sightings in chosen.values() for peer in peers(sightings)]
    assert 77 in everyone


def test_a_link_at_a_drawn_distance_stays_while_the_candidates_are_the_same() -> None:
    known = strangers(range(1, 300))
    tested = selection(7, 5)
    first = peers(tested.select(descriptor(SELF), known, {})[SMALL_WORLD])
    shuffled = dict(sorted(known.items(), key=lambda item: -item[0]))
    assert len(first) == 5
    assert all(peers(tested.select(descriptor(SELF), shuffled, {})[SMALL_WORLD]) == first for _ in range(10))


def test_a_link_drawn_among_the_candidates_changes_all_the_time() -> None:
    known = strangers(range(1, 300))
    tested = selection(3, 1, "candidates")
    drawn = {peers(tested.select(descriptor(SELF), known, {})[SMALL_WORLD])[0] for _ in range(50)}
    assert len(drawn) > 5


@pytest.fixture(scope="module")
def neighbourhood() -> dict[int, Sighting]:
    """What gossip hands a peer: its surroundings on the ring, and few from afar."""
    near = sorted(range(1, 4000), key=lambda peer: distance(of_peer(SELF), of_peer(peer)))
    return strangers([*near[:60], *near[60::400]])


def shares(known: dict[int, Sighting], draw: str) -> list[float]:
    """Link lengths in shares of half the ring, over many draws."""
    lengths = []
    for seed in range(400):
        chosen = selection(3, 1, draw, seed).select(descriptor(SELF), known, {})
        (peer,) = peers(chosen[SMALL_WORLD])
        lengths.append(distance(of_peer(SELF), of_peer(peer)) / HALF)
    return lengths


def test_drawn_distances_are_harmonic() -> None:
    """Symphony's density 1/(x ln n): equally many links in each factor of distance."""
    peers_known = 2000
    lengths = shares(strangers(range(1, peers_known)), "distance")
    chosen = selection(3, 1).select(descriptor(SELF), strangers(range(1, peers_known)), {})
    near = (clockwise(peers(chosen[SUCCESSOR])[0]) + SPACE - clockwise(peers(chosen[PREDECESSOR])[0])) / 2
    octaves = math.log(HALF / near)
    spread = [math.log(length * HALF / near) / octaves for length in lengths]
    assert mean(spread) == pytest.approx(0.5, abs=0.08)
    for quarter in range(4):
        inside = sum(quarter / 4 <= position < (quarter + 1) / 4 for position in spread)
        assert 0.15 < inside / len(spread) < 0.35
    assert 0.05 < sum(length > 0.5 for length in lengths) / len(lengths) < 0.25


def test_drawn_distances_lie_on_both_sides() -> None:
    known = strangers(range(1, 2000))
    sides = [
        clockwise(peers(selection(3, 1, seed=seed).select(descriptor(SELF), known, {})[SMALL_WORLD])[0])
        < HALF
        for seed in range(200)
    ]
    assert 0.4 < mean(sides) < 0.6


def test_a_drawn_distance_reaches_afar_where_a_draw_among_candidates_stays_near(
    neighbourhood: dict[int, Sighting],
) -> None:
    far = median(shares(neighbourhood, "distance"))
    near = median(shares(neighbourhood, "candidates"))
    assert far > 4 * near


def test_the_peer_nearest_to_the_drawn_point_is_taken() -> None:
    """Between peers at 1 % and 50 % of the ring the border is half-way: 89 % of what is drawn clockwise."""

    def peer_at(share: float) -> int:
        return min(range(1, 4000), key=lambda peer: abs(clockwise(peer) / SPACE - share))

    near, far = peer_at(0.01), peer_at(0.5)
    known = strangers([peer_at(0.001), near, far, peer_at(0.999)])
    taken = [
        peers(selection(3, 1, seed=seed).select(descriptor(SELF), known, {})[SMALL_WORLD])[0]
        for seed in range(400)
    ]
    assert set(taken) == {near, far}
    assert taken.count(near) / len(taken) == pytest.approx(0.89 / 2, abs=0.08)
