"""The space of an attribute, its tree, and the tables of leaves; the thesis's figure 3.2 and table 3.1."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.contract.identifiers import hash_of
from emulator.protocols.pubsub.li.leaf_table import LeafNodeRoutingTable
from emulator.protocols.pubsub.li.parameters import LiParameters
from emulator.protocols.pubsub.li.pieces import cut, widened
from emulator.protocols.pubsub.li.probing import leaf_probe, region_probe
from emulator.protocols.pubsub.li.space import (
    ROOT,
    Attribute,
    Schema,
    TargetArea,
    ancestor,
    halves,
    is_below,
    level_of,
)

ATTRIBUTE = Attribute("Attribute1", 0.0, 100.0)
DOMAIN = st.floats(0.0, 100.0)


def node(bits: str) -> int:
    return int("1" + bits, 2)


def contains(area: tuple[float, float, float, float], x: float, y: float) -> bool:
    x_from, x_to, y_from, y_to = area
    return x_from <= x and (x < x_to or x_to == 100.0) and y_from <= y and (y < y_to or y_to == 100.0)


def everything_above(v: float, cut_off: float = 100.0) -> TargetArea:
    return TargetArea(ATTRIBUTE, v, v, cut_off)


@st.composite
def tables(draw: st.DrawFn) -> LeafNodeRoutingTable:
    """Return tables of a root, after splits of random leaves."""
    table = LeafNodeRoutingTable(ATTRIBUTE, ROOT)
    for choice in draw(st.lists(st.integers(0, 1000), max_size=30)):
        leaves = [node(i.removeprefix("Attribute1")) for i in table.records()]
        table.update([leaves[choice % len(leaves)]])
    return table


def test_the_root_is_split_on_x_and_its_halves_on_y() -> None:
    assert ATTRIBUTE.area(node("01")) == (0, 50, 50, 100)
    assert ATTRIBUTE.area(node("010")) == (0, 25, 50, 100)
    assert ATTRIBUTE.area(node("0110")) == (25, 50, 50, 75)


def test_identifiers_are_the_attributes_name_and_the_halves() -> None:
    assert ATTRIBUTE.identifier(ROOT) == "Attribute1"
    assert ATTRIBUTE.identifier(node("001")) == "Attribute1001"


def test_the_table_of_the_thesis() -> None:
    table = LeafNodeRoutingTable(ATTRIBUTE, node("01"))
    table.update([node("011"), node("010")])
    assert table.records() == {
        "Attribute10100": (0, 25, 50, 75),
        "Attribute10101": (0, 25, 75, 100),
        "Attribute10110": (25, 50, 50, 75),
        "Attribute10111": (25, 50, 75, 100),
    }


def test_the_subscription_of_figure_3_2_is_in_leaf_0101() -> None:
    table = LeafNodeRoutingTable(ATTRIBUTE, node("01"))
    table.update([node("011"), node("010")])
    assert table.leaf_of(10, 80) == node("0101")
    assert ATTRIBUTE.position_of(10, 80, 4) == node("0101")


def test_an_event_asks_every_leaf_that_may_hold_a_match() -> None:
    table = LeafNodeRoutingTable(ATTRIBUTE, ROOT)
    table.update([node(bits) for bits in ("0", "00", "01", "010", "011", "1")])
    asked = table.leaves_overlapping(everything_above(15.0))
    # x <= 15 and y >= 15: the thesis's A, C and D; not the leaves right of 25.
    assert asked == [node(bits) for bits in ("000", "0100", "0101")]


def test_updates_may_come_in_any_order() -> None:
    table = LeafNodeRoutingTable(ATTRIBUTE, ROOT)
    table.update([node("0101")])
    assert table.splits == {node(bits) for bits in ("0101", "010", "01", "0", "")}


def test_updates_of_other_branches_are_not_taken() -> None:
    table = LeafNodeRoutingTable(ATTRIBUTE, node("01"))
    table.update([node("1"), node("0"), node("00")])
    assert table.splits == set()


@given(tables(), DOMAIN, DOMAIN)
def test_leaves_partition_the_domain(table: LeafNodeRoutingTable, x: float, y: float) -> None:
    covering = [identifier for identifier, area in table.records().items() if contains(area, x, y)]
    assert covering == [ATTRIBUTE.identifier(table.leaf_of(x, y))]


@given(tables(), DOMAIN, DOMAIN, DOMAIN, st.floats(1.0, 100.0))
def test_a_matching_point_is_in_a_leaf_that_is_asked(
    table: LeafNodeRoutingTable, low: float, v: float, high: float, cut_off: float
) -> None:
    low, v, high = sorted((low, v, high))
    if high - low <= cut_off:
        target = TargetArea(ATTRIBUTE, v, v, cut_off)
        assert table.leaf_of(low, high) in table.leaves_overlapping(target)


@given(DOMAIN, DOMAIN, st.integers(0, 40))
def test_a_node_covers_the_points_that_lead_to_it(x: float, y: float, level: int) -> None:
    position = ATTRIBUTE.position_of(x, y, level)
    assert level_of(position) == level
    assert contains(ATTRIBUTE.area(position), x, y)


def test_halves_of_an_area() -> None:
    assert halves((0, 100, 0, 100), 0) == ((0, 50, 0, 100), (50, 100, 0, 100))
    assert halves((0, 50, 0, 100), 1) == ((0, 50, 0, 50), (0, 50, 50, 100))


def test_ancestors() -> None:
    assert ancestor(node("0110"), 2) == node("01")
    assert is_below(node("0110"), node("01"))
    assert not is_below(node("01"), node("0110"))
    assert not is_below(node("1110"), node("01"))


@given(st.floats(0.0, 100.0), st.integers(0, 4), st.integers(4, 8), st.floats(0, 1), st.integers())
def test_region_probes_cover_the_target_without_overlap(
    v: float, least: int, most: int, select: float, seed: int
) -> None:
    parameters = LiParameters(min_level=least, max_level=most, select=select)
    target = TargetArea(ATTRIBUTE, v, v, 20.0)
    draw = random.Random(seed)
    chosen = region_probe(target, parameters, draw)
    assert all(least <= level_of(position) <= most for position in chosen)
    assert not [(a, b) for a in chosen for b in chosen if a != b and is_below(a, b)]
    for _ in range(20):
        low = draw.uniform(max(0.0, v - 20.0), v)
        high = draw.uniform(v, min(100.0, low + 20.0))
        point = ATTRIBUTE.position_of(low, high, most)
        assert any(is_below(point, position) for position in chosen)


def test_selection_decides_the_levels_of_region_probes() -> None:
    target = TargetArea(ATTRIBUTE, 50.0, 50.0, 100.0)

    def levels(select: float) -> set[int]:
        parameters = LiParameters(min_level=2, max_level=6, select=select)
        draws = (random.Random(seed) for seed in range(20))
        return {level_of(p) for draw in draws for p in region_probe(target, parameters, draw)}

    assert levels(1.0) == {2}
    assert levels(0.0) == {6}
    assert levels(0.5) == {2, 3, 4, 5, 6}


def test_leaf_probes_are_on_the_way_to_the_point() -> None:
    parameters = LiParameters(min_level=3, max_level=9)
    probed = {leaf_probe(ATTRIBUTE, 10, 80, parameters, random.Random(seed)) for seed in range(200)}
    assert {level_of(position) for position in probed} == set(range(3, 10))
    assert all(position == ATTRIBUTE.position_of(10, 80, level_of(position)) for position in probed)


@given(DOMAIN, DOMAIN, DOMAIN, st.floats(0.01, 1.0), st.integers())
def test_pieces_are_the_range_and_lie_below_the_cut_off_line(
    low: float, v: float, high: float, cut_off: float, seed: int
) -> None:
    low, v, high = sorted((low, v, high))
    pieces = cut((low, high), ATTRIBUTE, cut_off, (0.5, 1.0), random.Random(seed))
    assert pieces[0][0] == low and pieces[-1][1] == high
    assert all(before[1] == after[0] for before, after in pairwise(pieces))
    assert all(piece[1] - piece[0] <= cut_off * 100.0 for piece in pieces)
    assert 1 <= sum(piece[0] <= v <= piece[1] for piece in pieces) <= 2


def test_without_a_cut_off_line_no_range_is_cut() -> None:
    assert cut((0.0, 100.0), ATTRIBUTE, 0.0, (0.5, 1.0), random.Random(0)) == [(0.0, 100.0)]


def test_figure_3_4_has_four_points() -> None:
    assert cut((0.0, 70.0), ATTRIBUTE, 0.2, (1.0, 1.0), random.Random(0)) == [
        (0.0, 20.0),
        (20.0, 40.0),
        (40.0, 60.0),
        (60.0, 70.0),
    ]


def test_a_range_on_a_corner_is_widened() -> None:
    low, high = widened((25.0, 75.0), ATTRIBUTE, 0.01, 10, random.Random(0))
    assert 24.0 <= low < 25.0 and 75.0 < high <= 76.0


def test_a_range_that_is_on_no_corner_stays() -> None:
    assert widened((25.3, 75.0), ATTRIBUTE, 0.01, 10, random.Random(0)) == (25.3, 75.0)


def test_a_range_over_the_domain_cannot_be_widened() -> None:
    assert widened((0.0, 100.0), ATTRIBUTE, 0.01, 10, random.Random(0)) == (0.0, 100.0)


def test_keys_are_hashes_of_identifiers() -> None:
    schema = Schema.of({"Attribute1": (0.0, 100.0)})
    assert schema.key(0, node("01")) == hash_of("Attribute101")


def test_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(ValueError, match="no attribute price"):
        Schema.of({"size": (0.0, 1.0)}).index("price")
