"""Kernels do the same as their plain twins, and refuse what does not fit."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i32, i64

from emulator.kernels import election, routes, selection, topic_sets, utility

native = pytest.importorskip("emulator.kernels.native", reason="the kernels are not compiled here")

RING = 1 << 62
FEW_PLACES = st.integers(0, 40) | st.integers(0, RING - 1)
FEW_TOPICS = st.integers(0, 30) | st.integers(0, 9000)
REACHES = st.floats(-1, 1)


def numbers(values: Sequence[int]) -> vec[i64]:
    return vec[i64](values)


def written(values: Sequence[float]) -> memoryview[float]:
    return memoryview(array("d", values))


def floats(values: Sequence[float]) -> vec[float]:
    return vec[float](values)


@given(st.lists(FEW_PLACES, max_size=40), st.lists(FEW_PLACES, max_size=70), st.data())
def test_next_hops_are_those_of_the_plain_search(
    places: list[int], keys: list[int], data: st.DataObject
) -> None:
    handles = data.draw(st.lists(st.integers(0, len(places) - 1), unique=True)) if places else []
    begin = data.draw(st.integers(0, len(handles)))
    topics = data.draw(st.lists(st.integers(0, len(keys) - 1), unique=True)) if keys else []
    given = (
        vec[i32](topics),
        numbers(keys),
        numbers(handles),
        begin,
        data.draw(st.integers(begin, len(handles))),
        numbers(places),
        numbers(range(len(places))),
        data.draw(FEW_PLACES),
    )
    expected, found = routes.next_hops(*given), native.next_hops(*given)
    assert found == expected
    assert expected is None or list(found) == list(expected)


@given(st.lists(FEW_PLACES, min_size=1, max_size=60), FEW_PLACES, st.lists(REACHES, max_size=15), st.data())
def test_near_candidates_are_those_of_the_plain_selection(
    places: list[int], here: int, reaches: list[float], data: st.DataObject
) -> None:
    handles = data.draw(st.lists(st.integers(0, len(places) - 1), max_size=60))
    count = data.draw(st.integers(0, len(handles)))
    given = numbers(handles), count, numbers(places), here, floats(reaches)
    assert native.near(*given) == selection.near(*given)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5]), st.integers(0, 5)), max_size=60),
    st.integers(0, 70),
    st.integers(0, 70),
    st.data(),
)
def test_the_best_candidates_are_those_of_the_plain_selection(
    ranks: list[tuple[float, int]], kept: int, most: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, len(ranks)))
    here = data.draw(st.integers(0, 5))
    taken = data.draw(st.lists(st.integers(0, count - 1), unique=True)) if count else []
    utilities, places = written([rank[0] for rank in ranks]), numbers([rank[1] for rank in ranks])
    handles = numbers(data.draw(st.permutations(range(len(ranks)))))
    given = utilities, handles, count, places, here, kept, taken, most
    assert native.best(*given) == selection.best(*given)


@given(
    st.lists(
        st.tuples(
            st.sets(st.integers(0, 30) | st.integers(0, 9000), max_size=12),
            st.sampled_from([1.0, 2.0, math.nan]),
        ),
        min_size=1,
        max_size=20,
    ),
    st.data(),
)
def test_utilities_are_those_of_the_plain_comparison(
    profiles: list[tuple[set[int], float]], data: st.DataObject
) -> None:
    a_handle = st.integers(0, len(profiles) - 1)
    handles, own = data.draw(st.lists(a_handle, max_size=30)), data.draw(a_handle)
    sizes = [len(topics) for topics, _ in profiles]
    given = (
        own,
        vec[i32]([topic for topics, _ in profiles for topic in sorted(topics)]),
        numbers([sum(sizes[:place]) for place in range(len(sizes))]),
        numbers(sizes),
        floats([rate for _, rate in profiles]),
    )
    known = numbers([0] * data.draw(st.sampled_from([1, 4, 256])))
    for _ in range(2):
        found, expected = written([0.0] * len(handles)), written([0.0] * len(handles))
        assert native.rate(found, numbers(handles), len(handles), *given, known) == utility.rate(
            expected, numbers(handles), len(handles), *given, known
        )
        assert list(found) == list(expected)
        handles = data.draw(st.permutations(handles))


@given(st.lists(st.sets(FEW_TOPICS, max_size=12), max_size=9), st.data())
def test_united_topics_are_those_of_the_plain_union(sets: list[set[int]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(sets) - 1))) if sets else []
    begin = data.draw(st.integers(0, len(rows)))
    given = (
        vec[vec[i32]]([vec[i32](sorted(topics)) for topics in sets]),
        numbers(rows),
        begin,
        data.draw(st.integers(begin, len(rows))),
    )
    assert list(native.unite(*given)) == list(topic_sets.unite(*given))


PEERS = st.integers(-1, 8)
CONTACTS = 12
PROPOSALS = st.tuples(st.integers(0, CONTACTS - 1), PEERS, st.integers(0, 6))
"""(the gateway's contact, parent, hops)"""


@given(
    st.lists(st.tuples(st.integers(0, 8), st.dictionaries(FEW_TOPICS, PROPOSALS, max_size=8)), max_size=9),
    st.lists(st.tuples(PEERS, FEW_PLACES), min_size=CONTACTS, max_size=CONTACTS),
    st.data(),
)
def test_elected_gateways_are_those_of_the_plain_election(
    said: list[tuple[int, dict[int, tuple[int, int, int]]]],
    contacts: list[tuple[int, int]],
    data: st.DataObject,
) -> None:
    told = {topic for _, proposals in said for topic in proposals}
    own = sorted(data.draw(st.sets(st.sampled_from(sorted(told)) | FEW_TOPICS if told else FEW_TOPICS)))
    topics = [own, *(sorted(proposals) for _, proposals in said)]
    sizes = [len(each) for each in topics]
    columns = [proposals[topic] for _, proposals in said for topic in sorted(proposals)]
    heard = data.draw(st.lists(st.integers(-1, len(said) - 1), max_size=12))
    given: tuple[Any, ...] = (
        data.draw(st.integers(0, CONTACTS - 1)),
        data.draw(st.integers(0, 6)),
        0,
        numbers(data.draw(st.lists(FEW_PLACES, min_size=len(own), max_size=len(own)))),
        numbers([9 if row < 0 else said[row][0] for row in heard]),
        numbers(heard),
        len(heard),
        vec[i32]([topic for each in topics for topic in each]),
        numbers([sum(sizes[:place]) for place in range(len(sizes))]),
        numbers(sizes),
        numbers(range(1, len(sizes))),
        numbers([sum(sizes[1:place]) if sizes[place] else -1 for place in range(1, len(sizes))]),
        *(vec[i32]([column[part] for column in columns]) for part in range(3)),
        *(numbers([contact[part] for contact in contacts]) for part in range(2)),
    )
    nothing = [numbers([])] * 3
    found = native.elect(*given, *nothing)
    expected = election.elect(*given, *nothing)
    assert lists(found) == lists(expected)
    if found:
        assert native.elect(*given, *found[:3]) == election.elect(*given, *found[:3]) == ()


def lists(elected: tuple[vec[i64], ...] | None) -> list[list[i64]] | None:
    return None if elected is None else [list(part) for part in elected]


def call_elect(**other: object) -> tuple[vec[i64], ...] | None:
    """Hold an election of a peer with the topics 3 and 4, whose one neighbour proposes a gateway for them."""
    given: dict[str, object] = {
        "own": 0,
        "limit": 5,
        "profile": 0,
        "keys": numbers([0, 0]),
        "neighbours": numbers([1]),
        "said": numbers([0]),
        "count": 1,
        "topics": vec[i32]([3, 4]),
        "begins": numbers([0]),
        "sizes": numbers([2]),
        "profiles": numbers([0]),
        "firsts": numbers([0]),
        "gateways": vec[i32]([1, 1]),
        "parents": vec[i32]([1, 1]),
        "hops": vec[i32]([0, 0]),
        "peers": numbers([0, 1]),
        "places": numbers([0, 9]),
        "former_gateways": numbers([]),
        "former_parents": numbers([]),
        "former_hops": numbers([]),
    }
    return native.elect(*(given | other).values())


@pytest.mark.parametrize(
    ("other", "error"),
    [
        ({"own": 1 << 70}, OverflowError),
        ({"own": 2}, IndexError),
        ({"own": -1}, IndexError),
        ({"limit": "a"}, TypeError),
        ({"profile": 1}, IndexError),
        ({"profile": -1}, IndexError),
        ({"keys": numbers([0])}, ValueError),
        ({"keys": floats([0.0, 0.0])}, TypeError),
        ({"count": 2}, ValueError),
        ({"count": -1}, ValueError),
        ({"said": numbers([])}, ValueError),
        ({"said": numbers([1])}, IndexError),
        ({"said": numbers([-2])}, IndexError),
        ({"topics": numbers([3, 4])}, TypeError),
        ({"begins": numbers([1])}, IndexError),
        ({"profiles": numbers([1])}, IndexError),
        ({"firsts": numbers([1])}, IndexError),
        ({"firsts": numbers([-2])}, IndexError),
        ({"hops": numbers([0, 0])}, TypeError),
        ({"hops": vec[i32]([0])}, ValueError),
        ({"places": numbers([0])}, ValueError),
        ({"gateways": vec[i32]([2, 1])}, IndexError),
        ({"gateways": vec[i32]([-1, 1])}, IndexError),
        ({"former_hops": [0, 0]}, TypeError),
    ],
)
def test_an_election_refuses_what_does_not_fit(other: dict[str, object], error: type[Exception]) -> None:
    assert lists(call_elect()) == [[0, 0], [0, 0], [0, 0], [0, 0], [0]]
    with pytest.raises(error):
        call_elect(**other)


ONE, TWO, HALF = numbers([1]), numbers([1, 2]), floats([0.5])
TOPICS, ZERO = vec[i32]([3, 4]), numbers([0])
FIRST, SECOND = vec[i32]([0]), vec[i32]([1])
SETS = vec[vec[i32]]([FIRST])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: native.next_hops(), TypeError),
        (lambda: native.elect(), TypeError),
        (lambda: native.next_hops(ONE, ONE, ZERO, 0, 1, ONE, ONE, 0), TypeError),
        (lambda: native.next_hops(FIRST, HALF, ZERO, 0, 1, ONE, ONE, 0), TypeError),
        (lambda: native.next_hops(FIRST, [1], ZERO, 0, 1, ONE, ONE, 0), TypeError),
        (lambda: native.next_hops(FIRST, array("i", [1]), ZERO, 0, 1, ONE, ONE, 0), TypeError),
        (lambda: native.next_hops(FIRST, b"12345678", ZERO, 0, 1, ONE, ONE, 0), TypeError),
        (
            lambda: native.next_hops(FIRST, memoryview(array("q", [1, 2, 3]))[::2], ZERO, 0, 1, ONE, ONE, 0),
            BufferError,
        ),
        (lambda: native.next_hops(SECOND, ONE, ZERO, 0, 1, numbers([99]), ONE, 0), IndexError),
        (lambda: native.next_hops(vec[i32]([-1]), ONE, ZERO, 0, 1, ONE, ONE, 0), IndexError),
        (lambda: native.next_hops(FIRST, ONE, ONE, 0, 1, ONE, TWO, 0), IndexError),
        (lambda: native.next_hops(FIRST, ONE, ONE, 0, 1, TWO, ONE, 0), IndexError),
        (lambda: native.next_hops(FIRST, ONE, ZERO, 0, 2, ONE, ONE, 0), ValueError),
        (lambda: native.next_hops(FIRST, ONE, ZERO, 1, 0, ONE, ONE, 0), ValueError),
        (lambda: native.next_hops(FIRST, ONE, ZERO, -1, 1, ONE, ONE, 0), ValueError),
        (lambda: native.next_hops(FIRST, ONE, ZERO, 0, 1, ONE, ONE, 1 << 70), OverflowError),
        (lambda: native.near(ONE, 1, TWO, 0), TypeError),
        (lambda: native.near(ONE, 2, TWO, 0, HALF), ValueError),
        (lambda: native.near(ONE, -1, TWO, 0, HALF), ValueError),
        (lambda: native.near(ONE, 1 << 70, TWO, 0, HALF), OverflowError),
        (lambda: native.near(ONE, 1, TWO, 1 << 70, HALF), OverflowError),
        (lambda: native.near(ONE, 1.0, TWO, 0, HALF), TypeError),
        (lambda: native.near(TWO, 2, TWO, 0, HALF), IndexError),
        (lambda: native.near(numbers([-1]), 1, TWO, 0, HALF), IndexError),
        (lambda: native.near(numbers([0, 1]), 2, TWO, 0, floats([9.0])), ValueError),
        (lambda: native.near(numbers([0, 1]), 2, TWO, 0, floats([float("nan")])), ValueError),
        (lambda: native.near(numbers([0, 1]), 2, TWO, 0, TWO), TypeError),
        (lambda: native.best(HALF, ZERO, 2, TWO, 0, 0, [], 1), ValueError),
        (lambda: native.best(HALF, TWO, 2, TWO, 0, 0, [], 1), ValueError),
        (lambda: native.best(HALF, ONE, 1, ONE, 0, 0, [], 1), IndexError),
        (lambda: native.best(HALF, ZERO, 1, TWO, 0, 0, [1], 1), IndexError),
        (lambda: native.best(HALF, ZERO, 1, TWO, 0, 0, [-1], 1), ValueError),
        (lambda: native.best(HALF, ZERO, 1, TWO, 0, 0, ["a"], 1), TypeError),
        (lambda: native.best(HALF, ZERO, 1, TWO, 0, 0, (), 1), TypeError),
        (lambda: native.best(HALF, ZERO, 1, TWO, 0, 0, [], -1), ValueError),
        (lambda: native.best(HALF, ZERO, 1, TWO, 1 << 70, 0, [], 1), OverflowError),
        (lambda: native.unite(SETS, ZERO, 0), TypeError),
        (lambda: native.unite(ZERO, ZERO, 0, 1), TypeError),
        (lambda: native.unite(vec[vec[i64]]([ZERO]), ZERO, 0, 1), TypeError),
        (lambda: native.unite(SETS, ONE, 0, 1), IndexError),
        (lambda: native.unite(SETS, ZERO, 0, 2), ValueError),
        (lambda: native.unite(SETS, ZERO, 1, 0), ValueError),
        (lambda: native.unite(vec[vec[i32]]([vec[i32]([-1])]), ZERO, 0, 1), ValueError),
        (lambda: native.rate(HALF, ZERO, 1, 0, TOPICS, ZERO, TWO, HALF, ZERO), BufferError),
        (lambda: native.rate(written([0.0]), ZERO, 1, 0, TOPICS, ZERO, TWO, HALF, HALF), TypeError),
        (lambda: native.rate(written([0.0]), ZERO, 1, 0, TOPICS, ZERO, TWO, HALF, numbers([])), ValueError),
        (
            lambda: native.rate(written([0.0]), ZERO, 1, 0, TOPICS, ZERO, TWO, HALF, numbers([0] * 3)),
            ValueError,
        ),
        (lambda: native.rate(written([0.0]), numbers([-1]), 1, 0, TOPICS, ZERO, TWO, HALF, ZERO), IndexError),
        (lambda: native.rate(written([0.0]), ZERO, 2, 0, TOPICS, ZERO, TWO, HALF, ZERO), ValueError),
        (lambda: native.rate(written([0.0]), ZERO, 1, 0, ONE, ZERO, TWO, HALF, ZERO), TypeError),
        (lambda: native.rate(written([0.0]), ZERO, 1, 1, TOPICS, ZERO, TWO, HALF, ZERO), IndexError),
        (lambda: native.rate(written([0.0]), ONE, 1, 0, TOPICS, ZERO, TWO, HALF, ZERO), IndexError),
        (lambda: native.rate(written([0.0]), ZERO, 1, 0, TOPICS, numbers([2]), TWO, HALF, ZERO), IndexError),
        (lambda: native.rate(written([0.0]), ZERO, 1, 0, TOPICS, numbers([-1]), TWO, HALF, ZERO), IndexError),
        (lambda: native.rate(written([0.0]), ZERO, 1, 0, TOPICS, ZERO, numbers([3]), HALF, ZERO), IndexError),
        (
            lambda: native.rate(written([0.0]), ZERO, 1, 0, TOPICS, ZERO, numbers([1 << 62]), HALF, ZERO),
            IndexError,
        ),
        (lambda: native.rate(written([0.0]), ZERO, 1, 0, vec[i32]([-1]), ZERO, ONE, HALF, ZERO), ValueError),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
