"""Shares of a clique, and what two cliques become."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.protocols.overlays.cliques.arrangement import Bounds, rearrange, split
from emulator.protocols.overlays.cliques.view import WHOLE, Rtts, View, even_ends, pair, view_in

BOUNDS = Bounds(size=4, diameter=0.1)


def on_a_line(places: dict[int, float]) -> Rtts:
    return {pair(a, b): abs(places[a] - places[b]) for a in places for b in places if a < b}


def view(members: list[int], number: int = 1) -> View:
    return View(number, members, {p: float(p) for p in members}, even_ends(len(members)), {})


@given(st.lists(st.integers(0, 30), max_size=40))
def test_shares_always_divide_the_whole(steps: list[int]) -> None:
    clique = view([0])
    for number, peer in enumerate(steps, 2):
        if peer not in clique.members:
            clique = clique.joined(peer, float(peer), {}, number)
        elif len(clique.members) > 1:
            clique = clique.without(peer, number)
        shares = [clique.share(member) for member in clique.members]
        assert shares[0][0] == 0 and shares[-1][1] == WHOLE
        assert all(one[1] == two[0] for one, two in pairwise(shares))
        assert all(low < high for low, high in shares)
        assert clique.leader == min(clique.members)


def test_a_share_falls_to_the_neighbour_with_the_smaller_one() -> None:
    clique = View(1, [1, 2, 3], {1: 0, 2: 1, 3: 2}, [WHOLE // 2, 3 * WHOLE // 4, WHOLE], {})
    assert clique.without(2, 2).share(3) == (WHOLE // 2, WHOLE)
    assert clique.without(3, 2).share(2) == (WHOLE // 2, WHOLE)


def test_a_view_is_the_same_after_its_way_in_a_message() -> None:
    clique = View(7, [3, 1, 2], {1: 5.0, 2: 6.0, 3: 5.5}, even_ends(3), on_a_line({1: 0, 2: 0.01, 3: 0.03}))
    read = view_in(clique.message())
    assert read is not None
    assert (read.number, read.members, read.since, read.ends) == (7, [3, 1, 2], clique.since, clique.ends)
    assert read.rtts == pytest.approx(clique.rtts)


def test_cliques_that_fit_merge_and_those_that_do_not_exchange_members() -> None:
    near = on_a_line({1: 0.0, 2: 0.02, 3: 0.05})
    assert rearrange([1], [2, 3], near, BOUNDS) == [[1, 2, 3]]
    mixed = on_a_line({1: 0.0, 2: 0.01, 3: 0.3, 4: 0.31})
    assert rearrange([1, 3], [2, 4], mixed, BOUNDS) in ([[1, 2], [4, 3]], [[3, 4], [2, 1]])
    assert rearrange([1, 2], [3, 4], mixed, BOUNDS) is None
    assert rearrange([1], [3, 4], mixed, BOUNDS) is None
    assert rearrange([1], [3, 4], mixed, BOUNDS, however_far=True) == [[1, 3, 4]]


@given(st.lists(st.floats(0, 0.4), min_size=2, max_size=8), st.integers(1, 4))
def test_a_rearrangement_keeps_to_the_bounds_and_loses_nobody(places: list[float], first: int) -> None:
    rtts = on_a_line(dict(enumerate(places)))
    members = list(range(len(places)))
    one, two = members[:first][:4], members[first:][:4]
    if not two:
        return
    made = rearrange(one, two, rtts, BOUNDS)
    if made is not None:
        assert sorted(p for clique in made for p in clique) == sorted([*one, *two])
        assert all(0 < len(clique) <= 4 for clique in made)


def test_nobody_flees_from_a_clique_that_is_wide_because_a_small_one_joined_it() -> None:
    rtts = on_a_line({1: 0.0, 2: 0.01, 3: 0.02, 9: 0.5, 4: 0.09, 5: 0.1})
    assert rearrange([1, 2, 3, 9], [4, 5], rtts, BOUNDS) is None


@settings(max_examples=60)
@given(st.lists(st.floats(0, 0.4), min_size=3, max_size=12), st.randoms(use_true_random=False))
def test_cliques_that_merge_exchange_members_and_join_the_nearest_come_to_rest(
    places: list[float], draw: random.Random
) -> None:
    """Leaders take turns, and cliques below a minimum of three join the nearest with room."""
    rtts = on_a_line(dict(enumerate(places)))
    cliques = [[peer] for peer in range(len(places))]

    def step(one: list[int]) -> bool:
        others = sorted(cliques, key=lambda other: abs(places[other[0]] - places[one[0]]))
        others.remove(one)
        for other in draw.sample(others, len(others)):
            if (made := rearrange(one, other, rtts, BOUNDS)) is not None:
                break
        else:
            other = next((c for c in others if len(c) + len(one) <= BOUNDS.size), one)
            if len(one) >= 3 or other is one:
                return False
            made = rearrange(one, other, rtts, BOUNDS, however_far=True)
        cliques.remove(one)
        cliques.remove(other)
        cliques.extend(made or [])
        return True

    for _ in range(200):
        steps = [step(one) for one in list(cliques) if one in cliques]
        if not any(steps):
            return
    raise AssertionError(f"never at rest: {cliques}")


def test_a_clique_that_grew_too_wide_parts_where_it_is_widest() -> None:
    apart = on_a_line({1: 0.0, 2: 0.02, 3: 0.3, 4: 0.31})
    assert sorted(map(sorted, split([1, 2, 3, 4], apart, BOUNDS, 2) or [])) == [[1, 2], [3, 4]]
    assert split([1, 2, 3, 4], apart, BOUNDS, 3) is None
    a_little = on_a_line({1: 0.0, 2: 0.02, 3: 0.1, 4: 0.105})
    assert split([1, 2, 3, 4], a_little, BOUNDS, 1) is None
    assert split([1, 2, 3, 4], {}, BOUNDS, 1) is None
