"""Zones of equal event rate, and who has them."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.protocols.overlays.cliques.view import even_ends
from emulator.protocols.pubsub.content.space import ABSENT, EventSpace, box_of, filter_of
from emulator.protocols.pubsub.content.zones import draw_zones, imbalance, zone_of
from emulator.protocols.pubsub.kyra.epoch import Epoch, epoch_in, to_bounds, to_box

SPACE = EventSpace.of({"a": (0.0, 10.0), "b": (-1.0, 1.0)})
values = st.tuples(st.floats(-2, 12), st.one_of(st.floats(-2, 2), st.just(ABSENT)))


@settings(max_examples=60)
@given(st.lists(values, max_size=60), st.integers(1, 23), st.lists(values, min_size=1, max_size=20))
def test_every_point_is_in_one_zone_inside_the_domain_or_not(
    events: list[tuple[float, float]], count: int, points: list[tuple[float, float]]
) -> None:
    zones = draw_zones(SPACE, count, events)
    assert len(zones) == count
    for point in points:
        assert len({(zone.lows, zone.highs) for zone in zones if zone.has(point)}) == 1
        assert zones[zone_of(zones, point)].has(point)


@given(st.integers(0, 1000), st.integers(2, 20), st.floats(0.5, 4))
def test_zones_have_equal_shares_of_the_events(seed: int, count: int, skew: float) -> None:
    draw = random.Random(seed)
    events = [(10 * draw.random() ** skew, 2 * draw.random() - 1) for _ in range(400)]
    assert imbalance(draw_zones(SPACE, count, events), events) <= 1 + 2 * count / 400 + 0.05
    if skew > 3 and count > 4:
        assert imbalance(draw_zones(SPACE, count), events) > 1.5


def test_many_events_of_one_value_leave_zones_that_are_sound() -> None:
    events = [(3.0, 0.0)] * 50 + [(7.0, 0.5)] * 10
    zones = draw_zones(SPACE, 8, events)
    assert {zone_of(zones, event) for event in events} == {
        zone_of(zones, events[0]),
        zone_of(zones, events[-1]),
    }
    assert zone_of(zones, events[0]) != zone_of(zones, events[-1])


@given(st.integers(1, 30), st.integers(1, 20), st.integers(1, 3))
def test_members_have_runs_of_zones_as_equal_as_can_be(members: int, trees: int, parts: int) -> None:
    epoch = Epoch(1, 0.0, parts, draw_zones(SPACE, trees * parts))
    holders = epoch.holders(list(range(members)), even_ends(members))
    assert holders == sorted(holders) and len(holders) == trees * parts
    shares = [holders.count(member) for member in range(members)]
    assert max(shares) - min(shares) <= 1
    pieces = epoch.pieces(list(range(members)), even_ends(members))
    assert [piece.tree for piece in pieces] == [number // parts for number in range(trees * parts)]


def test_zones_are_the_same_after_their_way_in_a_message_and_in_a_layout() -> None:
    draw = random.Random(1)
    events = [(10 * draw.random() ** 2, draw.random()) for _ in range(300)]
    epoch = Epoch(5, 2.5, 1, draw_zones(SPACE, 12, events))
    read = epoch_in(epoch.message())
    assert (read.number, read.begins, read.parts, read.zones) == (5, 2.5, 1, epoch.zones)
    assert [to_box(to_bounds(zone, SPACE), SPACE) for zone in epoch.zones] == epoch.zones
    assert all(box_of(filter_of(zone)) == zone for zone in epoch.zones)
    assert epoch.region(3) == epoch.zones[3]
