"""Content interests and events: inside their domains, by the shares and skews that were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emulator.workload.attribute import Attribute
from emulator.workload.content_patterns import RangePattern
from emulator.workload.draw_subscriptions import draw_content
from emulator.workload.ranges import (
    draw_bounds,
    draw_points,
    draw_presence,
)

PRICE: dict[str, Any] = {"name": "price", "low": 0.0, "high": 100.0, "sub_range": 10.0}
LARGE = 20_000


def attribute(**fields: Any) -> Attribute:
    return Attribute.model_validate(PRICE | fields)


def pattern(*attributes: dict[str, Any]) -> RangePattern:
    return RangePattern.model_validate({"kind": "ranges", "attributes": [PRICE | a for a in attributes]})


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    low = draw(st.floats(-1e6, 1e6))
    width = draw(st.floats(1e-2, 1e6))
    assume(low + width > low)
    return attribute(
        low=low,
        high=low + width,
        presence=draw(st.floats(0.01, 1)),
        sub_range=width / draw(st.floats(1, 500)),
        skew=draw(st.floats(0, 3)),
        size_skew=draw(st.floats(0, 3)),
        size_bound=draw(st.floats(0.01, 1)),
    )


@settings(deadline=None)
@given(attributes(), st.integers(0, 2**32))
def test_values_and_ranges_are_inside_the_domain_and_its_bound(drawn: Attribute, seed: int) -> None:
    random = np.random.default_rng(seed)
    points = draw_points(drawn, 50, random)
    low, high = draw_bounds(drawn, 50, random)
    assert ((drawn.low <= points) & (points <= drawn.high)).all()
    assert ((drawn.low <= low) & (low <= high) & (high <= drawn.high)).all()
    assert (high - low <= drawn.size_bound * (drawn.high - drawn.low) * (1 + 1e-6) + 1e-6).all()


@settings(deadline=None)
@given(st.lists(attributes(), min_size=1, max_size=6), st.integers(0, 2**32))
def test_every_subscription_names_an_attribute(drawn: list[Attribute], seed: int) -> None:
    assert draw_presence(drawn, 30, np.random.default_rng(seed)).any(axis=1).all()


def test_presence_is_as_asked_among_subscriptions_that_name_anything() -> None:
    shares = [0.5, 0.2, 0.0, 1e-6]
    drawn = [attribute(presence=share) for share in shares]
    present = draw_presence(drawn, LARGE, np.random.default_rng(1))
    any_at_all = 1 - np.prod([1 - share for share in shares])
    assert present.mean(axis=0) == pytest.approx([share / any_at_all for share in shares], abs=0.015)
    both = present[:, 0] & present[:, 1]
    assert both.mean() == pytest.approx(0.5 * 0.2 / any_at_all, abs=0.015)


def test_sub_ranges_follow_a_zipf_distribution_from_the_lowest_up() -> None:
    points = draw_points(attribute(skew=0.6), LARGE, np.random.default_rng(1))
    found = np.histogram(points, bins=10, range=(0, 100))[0] / LARGE
    weights = np.arange(1.0, 11) ** -0.6
    assert found == pytest.approx(weights / weights.sum(), abs=0.015)
    inside = (points[points < 10] / 10).mean()
    assert inside == pytest.approx(0.5, abs=0.02)


def test_without_skew_every_sub_range_is_as_likely_as_another() -> None:
    points = draw_points(attribute(skew=0.0), LARGE, np.random.default_rng(1))
    assert np.histogram(points, bins=10, range=(0, 100))[0] / LARGE == pytest.approx([0.1] * 10, abs=0.01)


def test_the_highest_sub_range_may_be_narrower() -> None:
    points = draw_points(attribute(sub_range=40.0), LARGE, np.random.default_rng(1))
    assert ((points >= 80).mean(), points.max() <= 100) == (pytest.approx(1 / 3, abs=0.015), True)


def test_small_sizes_are_the_most_frequent_and_none_is_above_the_bound() -> None:
    low, high = draw_bounds(attribute(size_skew=1.0, size_bound=0.4), LARGE, np.random.default_rng(1))
    found = np.histogram(high - low, bins=4, range=(0, 40))[0] / LARGE
    weights = np.arange(1.0, 5) ** -1.0
    assert found == pytest.approx(weights / weights.sum(), abs=0.015)


def test_a_bound_below_a_sub_range_holds() -> None:
    low, high = draw_bounds(attribute(size_bound=0.05), 100, np.random.default_rng(1))
    assert (high - low <= 5 + 1e-9).all()


def test_ranges_at_the_edge_of_the_domain_keep_their_size() -> None:
    drawn = attribute(skew=10.0, size_bound=1.0, sub_range=1.0)
    low, high = draw_bounds(drawn, LARGE, np.random.default_rng(1))
    assert (low == 0).any()
    assert (high - low).mean() == pytest.approx(50, abs=1)


def test_an_interest_has_the_ranges_of_its_attributes_alone() -> None:
    drawn = pattern({"name": "a", "presence": 1.0}, {"name": "b", "presence": 0.0})
    rows = drawn.draw_interests(20, np.random.default_rng(1))
    assert [[part["attribute"] for part in row] for row in rows] == [["a"]] * 20
    assert all(0 <= part["low"] <= part["high"] <= 100 for row in rows for part in row)


def test_an_event_has_a_value_of_each_attribute() -> None:
    rows = pattern({"name": "a"}, {"name": "b", "presence": 0.0}).draw_events(20, np.random.default_rng(1))
    assert [[part["attribute"] for part in row] for row in rows] == [["a", "b"]] * 20
    assert len({part["value"] for row in rows for part in row}) == 40


@pytest.mark.parametrize(
    ("fields", "key", "problem"),
    [
        ({"high": 0.0}, "attributes.1.high", "above 0"),
        ({"sub_range": 101.0}, "attributes.1.sub_range", "only 100 wide"),
        ({"sub_range": 1e-6}, "attributes.1.sub_range", "Make it larger"),
        ({"name": "price"}, "attributes.1.name", "two attributes"),
    ],
)
def test_an_attribute_that_cannot_be_drawn_is_told(fields: dict[str, Any], key: str, problem: str) -> None:
    ((found, text),) = pattern({}, {"name": "other"} | fields).problems()
    assert found == key
    assert problem in text


def test_subscriptions_without_any_possible_attribute_are_told() -> None:
    ((key, _),) = pattern({"presence": 0.0}).problems()
    assert key == "attributes.0.presence"
    assert pattern({}).problems() == []


@given(st.integers(0, 2**32 - 1))
def test_a_range_that_touches_no_edge_has_its_point_in_the_middle(seed: int) -> None:
    drawn = attribute(size_bound=0.3)
    point = draw_points(drawn, 50, np.random.default_rng(seed))  # the first that `draw_bounds` draws
    low, high = draw_bounds(drawn, 50, np.random.default_rng(seed))
    inside = (low > drawn.low) & (high < drawn.high)
    assert inside.any()
    assert np.allclose((low + high)[inside] / 2, point[inside])


class _Sets(RangePattern):
    """Asks for sets of values, as a kind of a package may."""

    def draw_interests(self, count: int, random: np.random.Generator) -> Any:
        return [[{"attribute": "price", "values": [70.0, 20.0, 50.0]}]] * count


def test_a_set_of_values_is_kept_in_order_with_its_ends() -> None:
    sets = _Sets.model_validate({"kind": "ranges", "attributes": [PRICE]})
    streams = np.random.default_rng(1), np.random.default_rng(2)
    (row,), _ = draw_content(sets, 1, 1, *streams)
    assert row == [{"attribute": "price", "values": [20.0, 50.0, 70.0], "low": 20.0, "high": 70.0}]
