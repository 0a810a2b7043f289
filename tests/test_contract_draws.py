"""Draws from a peer's random stream are those of Python's own methods."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.contract.draws import below, draw_few


@given(st.integers(), st.integers(0, 40), st.data())
def test_few_are_drawn_as_a_sample_is(seed: int, size: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, size))
    things = [100 + each for each in range(size)]
    ours, pythons = random.Random(seed), random.Random(seed)
    assert draw_few(ours, things, count) == pythons.sample(things, count)
    assert ours.random() == pythons.random(), "both have drawn as much"
    assert things == [100 + each for each in range(size)]


def test_more_than_there_are_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="larger than population"):
        draw_few(random.Random(1), [1, 2], 3)


@given(st.integers(), st.integers(1, 100))
def test_a_number_below_another_one_is_drawn_as_a_choice_is(seed: int, count: int) -> None:
    assert below(random.Random(seed), count) == random.Random(seed).choice(range(count))
