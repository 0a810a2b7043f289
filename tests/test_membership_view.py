"""The packed list of the members that one member knows."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from emulator.protocols.membership.view import NOBODY, MemberView, StartingMembers
from emulator.protocols.membership.words import ALIVE, FAILED, LEFT, UNKNOWN, Words
from trellis.v1.swim import MemberUpdate


def view_of(count: int, final: bool = True, forget_after: float = 0.0, seed: int = 1) -> MemberView:
    made = MemberView(Words(final), Random(seed), forget_after)
    for member in range(count):
        put(made, member)
    return made


def put(view: MemberView, member: int, state: int = ALIVE, incarnation: int = 0, now: float = 0.0) -> None:
    view.put(member, view._words.pack(MemberUpdate(member, 0, incarnation, state)), now)


def test_a_round_has_each_member_once_in_an_order_of_its_own() -> None:
    view = view_of(20)
    rounds = [[int(view.next_target(0.0)) for _ in range(20)] for _ in range(3)]
    assert all(sorted(each) == list(range(20)) for each in rounds)
    assert len({tuple(each) for each in rounds}) == 3


def test_a_newcomer_comes_at_a_random_place_of_the_round() -> None:
    places = Counter()
    for seed in range(400):
        view = view_of(4, seed=seed)
        for _ in range(2):
            view.next_target(0.0)
        put(view, 9)
        rest = [int(view.next_target(0.0)) for _ in range(3)]
        places[9 in rest] += 1
    assert 0.5 < places[True] / 400 < 0.7  # it comes after the two that were probed with chance 3/5


def test_members_that_are_over_are_not_probed_and_those_that_come_back_are() -> None:
    view = view_of(3, final=False)
    put(view, 1, FAILED)
    assert view.size == 2
    assert {int(view.next_target(1.0)) for _ in range(6)} == {0, 2}
    assert view.word(1) == UNKNOWN
    put(view, 1, ALIVE, incarnation=1)
    assert {int(view.next_target(1.0)) for _ in range(6)} == {0, 1, 2}
    assert view.size == 3


def test_a_final_failure_is_remembered_when_the_member_is_listed_no_more() -> None:
    view = view_of(2)
    put(view, 1, FAILED)
    assert [int(view.next_target(1.0)) for _ in range(2)] == [0, 0]
    assert list(view.members()) == [0] and view._words.state(view.word(1)) == FAILED


def test_a_failed_member_stays_listed_for_a_time() -> None:
    view = view_of(2, final=False, forget_after=30.0)
    put(view, 1, FAILED, now=10.0)
    for now, listed in ((39.0, {0, 1}), (41.0, {0})):
        for _ in range(4):
            assert view.next_target(now) == 0
        assert set(view.members()) == listed


def test_nobody_is_probed_where_all_are_over() -> None:
    view = view_of(2, forget_after=30.0)
    put(view, 0, LEFT)
    put(view, 1, FAILED)
    assert view.next_target(1.0) == NOBODY and view.next_target(60.0) == NOBODY and view.size == 0


@pytest.mark.parametrize("count", [4, 40])
def test_a_sample_has_different_members_that_fit(count: int) -> None:
    view = view_of(count)
    put(view, 3, FAILED, now=5.0)
    for _ in range(50):
        drawn = view.sample(3, 0, ALIVE, 10.0)
        assert len(set(drawn)) == min(3, count - 2) and not {0, 3} & set(drawn)
    assert any(3 in view.sample(3, 0, ALIVE, 1.0) for _ in range(100))
    assert sorted(view.sample(count, 0, ALIVE, 1.0)) == list(range(1, count))


def test_views_that_begin_with_one_list_change_apart() -> None:
    starting = StartingMembers([0, 1, 2, 5], True)
    views = [MemberView(Words(True), Random(0), 0.0) for _ in range(2)]
    for member, view in enumerate(views):
        view.begin(starting, member)
    assert [sorted(view.members()) for view in views] == [[1, 2, 5], [0, 2, 5]]
    put(views[0], 5, FAILED)
    assert views[1].word(5) != views[0].word(5) and views[1].size == 3
    with pytest.raises(ValueError, match="member 4"):
        views[0].begin(starting, 4)
