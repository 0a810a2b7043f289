"""Vitis's Algorithm 4: who of the known peers becomes a neighbour, and as what."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.contract.identifiers import RING, hash_of_peer
from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.profiles import make_profile, utility
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.overlays.small_world.neighbour_selection import (
    FRIEND,
    PREDECESSOR,
    SMALL_WORLD,
    SUCCESSOR,
    NeighbourSelection,
    by_kind,
)
from trellis.v1.overlay import Profile

SELF = 0
SPACE, HALF, distance = RING.size, RING.size // 2, RING.distance
profiles = st.dictionaries(st.integers(1, 500), st.sets(st.integers(0, 20), max_size=8), max_size=40)
draws = st.sampled_from(["distance", "anew", "candidates"])


def profile(peer: int, topics: Iterable[int] = ()) -> Profile:
    return make_profile(peer, 0, 1, hash_of_peer(peer), dict.fromkeys(topics, 1.0))


def candidates(profiles: dict[int, set[int]]) -> dict[int, Profile]:
    return {peer: profile(peer, topics) for peer, topics in profiles.items()}


def strangers(peers: Iterable[int]) -> dict[int, Profile]:
    return candidates({peer: set() for peer in peers})


class Selecting:
    """A peer's selection, with the profiles that its host knows."""

    def __init__(self, size: int, links: int, draw: str, seed: int) -> None:
        self.handles = ProfileHandles()
        rng = random.Random(seed)
        self.selection = NeighbourSelection(self.handles, hash_of_peer(SELF), size, links, draw, rng)


def select(
    tested: Selecting, own: Profile, known: dict[int, Profile], current: Iterable[int] = ()
) -> dict[str, list[int]]:
    """Return the chosen peers by kind."""
    kept = [peer for peer in current if peer in known]
    buffer = Sightings()
    for peer in [*kept, *(peer for peer in known if peer not in kept)]:
        buffer.add(peer, tested.handles.take(known[peer]), 0.0)
    tested.selection.select(tested.handles.take(own), buffer, len(kept))
    chosen = [buffer.peers[place] for place in tested.selection.chosen]
    return by_kind(chosen, tested.selection.small_world)


def selection(size: int, links: int, draw: str = "distance", seed: int = 1) -> Selecting:
    return Selecting(size, links, draw, seed)


def clockwise(peer: int) -> int:
    return (hash_of_peer(peer) - hash_of_peer(SELF)) % SPACE


@given(profiles, draws)
def test_ring_neighbours_are_the_nearest_of_all_candidates(known: dict[int, set[int]], draw: str) -> None:
    chosen = select(selection(15, 1, draw), profile(SELF), candidates(known))
    assert chosen[SUCCESSOR] == sorted(known, key=clockwise)[:1]
    assert chosen[PREDECESSOR] == (sorted(known, key=clockwise)[-1:] if len(known) > 1 else [])


@given(profiles, draws, st.integers(3, 15), st.data())
def test_a_table_is_full_and_never_more_than_full(
    known: dict[int, set[int]], draw: str, size: int, data: st.DataObject
) -> None:
    links = data.draw(st.integers(0, size - 2))
    chosen = select(selection(size, links, draw), profile(SELF), candidates(known))
    selected = [peer for found in chosen.values() for peer in found]
    assert len(selected) == len(set(selected)) == min(size, len(known))
    assert len(chosen[SMALL_WORLD]) <= links
    assert len(chosen[FRIEND]) <= size - 2 - links


@given(profiles, st.sets(st.integers(0, 20), max_size=8), draws)
def test_friends_are_the_most_alike_of_those_that_are_left(
    known: dict[int, set[int]], interests: set[int], draw: str
) -> None:
    own = profile(SELF, interests)
    chosen = select(selection(8, 2, draw), own, candidates(known))
    friends = chosen[FRIEND]
    elsewhere = {peer for kind, found in chosen.items() if kind != FRIEND for peer in found}
    left = {peer: utility(own, profile(peer, known[peer])) for peer in known.keys() - elsewhere}
    assert sorted((left[peer] for peer in friends), reverse=True) == sorted(left.values(), reverse=True)[:4]


def test_among_equals_the_neighbours_of_now_stay_friends() -> None:
    known = strangers(range(1, 60))
    for start in (1, 20, 40):
        current = dict.fromkeys(range(start, start + 12))
        chosen = select(selection(15, 1), profile(SELF), known, current)
        elsewhere = {peer for kind, found in chosen.items() if kind != FRIEND for peer in found}
        assert current.keys() - elsewhere <= set(chosen[FRIEND])


def test_equally_good_friends_are_free_when_all_is_drawn_anew() -> None:
    known = strangers(range(1, 60))
    tested = selection(15, 1, "anew")
    current = dict.fromkeys(range(1, 13))
    friends = [frozenset(select(tested, profile(SELF), known, current)[FRIEND]) for _ in range(9)]
    assert len(set(friends)) == 9


def test_a_changed_profile_is_rated_anew() -> None:
    tested = selection(4, 0)
    own = profile(SELF, {1, 2})
    known = candidates({peer: {1} for peer in range(1, 20)})
    before = select(tested, own, known)[FRIEND]
    ring = {peer for kind in (SUCCESSOR, PREDECESSOR) for peer in select(tested, own, known)[kind]}
    better = next(peer for peer in known if peer not in before and peer not in ring)
    known[better] = make_profile(better, 0, 2, hash_of_peer(better), {1: 1.0, 2: 1.0})
    assert select(tested, own, known, dict.fromkeys(before))[FRIEND][0] == better


def test_a_better_friend_replaces_a_neighbour_of_now() -> None:
    known = strangers(range(1, 40)) | candidates({77: {1, 2}})
    own = profile(SELF, {1, 2})
    current = dict.fromkeys(range(1, 40))
    chosen = select(selection(5, 0), own, known, current)
    everyone = [peer for found in chosen.values() for peer in found]
    assert 77 in everyone


def test_a_link_at_a_drawn_distance_stays_while_the_candidates_are_the_same() -> None:
    known = strangers(range(1, 300))
    tested = selection(7, 5)
    first = select(tested, profile(SELF), known)[SMALL_WORLD]
    shuffled = dict(sorted(known.items(), key=lambda item: -item[0]))
    assert len(first) == 5
    assert all(select(tested, profile(SELF), shuffled)[SMALL_WORLD] == first for _ in range(10))


@pytest.mark.parametrize("draw", ["anew", "candidates"])
def test_a_link_that_is_drawn_each_time_changes_all_the_time(draw: str) -> None:
    known = strangers(range(1, 300))
    tested = selection(3, 1, draw)
    drawn = {select(tested, profile(SELF), known)[SMALL_WORLD][0] for _ in range(50)}
    assert len(drawn) > 5


@pytest.fixture(scope="module")
def neighbourhood() -> dict[int, Profile]:
    """What gossip hands a peer: its surroundings on the ring, and few from afar."""
    near = sorted(range(1, 4000), key=lambda peer: distance(hash_of_peer(SELF), hash_of_peer(peer)))
    return strangers([*near[:60], *near[60::400]])


def shares(known: dict[int, Profile], draw: str) -> list[float]:
    """Return link lengths in shares of half the ring, over many draws."""
    lengths = []
    for seed in range(400):
        chosen = select(selection(3, 1, draw, seed), profile(SELF), known)
        (peer,) = chosen[SMALL_WORLD]
        lengths.append(distance(hash_of_peer(SELF), hash_of_peer(peer)) / HALF)
    return lengths


@pytest.mark.parametrize("draw", ["distance", "anew"])
def test_drawn_distances_are_harmonic(draw: str) -> None:
    """Symphony's density 1/(x ln n): equally many links in each factor of distance."""
    peers_known = 2000
    lengths = shares(strangers(range(1, peers_known)), draw)
    chosen = select(selection(3, 1), profile(SELF), strangers(range(1, peers_known)))
    near = (clockwise(chosen[SUCCESSOR][0]) + SPACE - clockwise(chosen[PREDECESSOR][0])) / 2
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
        clockwise(select(selection(3, 1, seed=seed), profile(SELF), known)[SMALL_WORLD][0]) < HALF
        for seed in range(200)
    ]
    assert 0.4 < mean(sides) < 0.6


def test_a_drawn_distance_reaches_afar_where_a_draw_among_candidates_stays_near(
    neighbourhood: dict[int, Profile],
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
    taken = [select(selection(3, 1, seed=seed), profile(SELF), known)[SMALL_WORLD][0] for seed in range(400)]
    assert set(taken) == {near, far}
    assert taken.count(near) / len(taken) == pytest.approx(0.89 / 2, abs=0.08)
