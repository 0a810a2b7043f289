"""Kernels do the same as their plain twins, and refuse what does not fit."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from emulator.kernels import routes, selection

native = pytest.importorskip("emulator.kernels.native", reason="the kernels are not compiled here")

RING = 1 << 62
FEW_PLACES = st.integers(0, 40) | st.integers(0, RING - 1)
REACHES = st.floats(-1, 1)


def numbers(values: Sequence[int]) -> vec[i64]:
    return vec[i64](values)


def floats(values: Sequence[float]) -> vec[float]:
    return vec[float](values)


@given(
    st.lists(FEW_PLACES, min_size=1, max_size=40, unique=True),
    st.lists(FEW_PLACES, max_size=70),
    st.data(),
)
def test_next_hops_are_those_of_the_plain_search(
    starts: list[int], keys: list[int], data: st.DataObject
) -> None:
    hops = data.draw(st.lists(st.integers(-1, 9), min_size=len(starts), max_size=len(starts)))
    topics = data.draw(st.integers(0, (1 << len(keys)) - 1)).to_bytes((len(keys) + 7) // 8, "little")
    given = topics, numbers(keys), numbers(sorted(starts)), numbers(hops)
    expected = routes.next_hops(*given)
    found = native.next_hops(*given)
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
    taken = data.draw(st.lists(st.integers(0, count - 1), unique=True)) if count else []
    utilities, orders = floats([rank[0] for rank in ranks]), numbers([rank[1] for rank in ranks])
    given = utilities, orders, count, kept, taken, most
    assert native.best(*given) == selection.best(*given)


ONE, TWO, HALF = numbers([1]), numbers([1, 2]), floats([0.5])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: native.next_hops(), TypeError),
        (lambda: native.next_hops("a", ONE, ONE, ONE), TypeError),
        (lambda: native.next_hops(b"\1", HALF, ONE, ONE), TypeError),
        (lambda: native.next_hops(b"\1", [1], ONE, ONE), TypeError),
        (lambda: native.next_hops(b"\1", array("i", [1]), ONE, ONE), TypeError),
        (lambda: native.next_hops(b"\1", b"12345678", ONE, ONE), TypeError),
        (lambda: native.next_hops(b"\1", memoryview(array("q", [1, 2, 3]))[::2], ONE, ONE), BufferError),
        (lambda: native.next_hops(b"\2", ONE, TWO, TWO), IndexError),
        (lambda: native.next_hops(b"\1", ONE, TWO, ONE), ValueError),
        (lambda: native.next_hops(b"\1", ONE, numbers([]), numbers([])), ValueError),
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
        (lambda: native.best(HALF, ONE, 2, 0, [], 1), ValueError),
        (lambda: native.best(HALF, TWO, 2, 0, [], 1), ValueError),
        (lambda: native.best(HALF, ONE, 1, 0, [1], 1), IndexError),
        (lambda: native.best(HALF, ONE, 1, 0, [-1], 1), ValueError),
        (lambda: native.best(HALF, ONE, 1, 0, ["a"], 1), TypeError),
        (lambda: native.best(HALF, ONE, 1, 0, (), 1), TypeError),
        (lambda: native.best(HALF, ONE, 1, 0, [], -1), ValueError),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
