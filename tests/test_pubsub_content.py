"""Boxes, the index of them, and routing tables with covering, against brute force."""

from __future__ import annotations

import random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.contract.protocol import Event, RangeInterest
from emulator.messages.catalogue import decode
from emulator.protocols.pubsub.content.index import BoxIndex
from emulator.protocols.pubsub.content.routes import FilterRoutes
from emulator.protocols.pubsub.content.space import Box, EventSpace, box_of, filter_of
from trellis.v1.filters import FilterUpdate

SPACE = EventSpace.of({"a": (0.0, 10.0), "b": (-5.0, 5.0)})
numbers = st.integers(-7, 12).map(float)


@st.composite
def interests(draw: st.DrawFn) -> RangeInterest:
    ranges, sets = {}, {}
    for name in draw(st.sets(st.sampled_from("ab"), min_size=1)):
        if draw(st.booleans()):
            ranges[name] = tuple(sorted((draw(numbers), draw(numbers))))
        else:
            sets[name] = draw(st.frozensets(numbers, min_size=1, max_size=4))
    return RangeInterest(ranges, sets)  # type: ignore[arg-type]


events = st.fixed_dictionaries({}, optional={"a": numbers, "b": numbers})
boxes = interests().map(SPACE.box)


def asks_for(interest: RangeInterest, attributes: dict[str, float]) -> bool:
    in_ranges = all(
        n in attributes and low <= attributes[n] <= high for n, (low, high) in interest.ranges.items()
    )
    return in_ranges and all(
        n in attributes and attributes[n] in values for n, values in interest.sets.items()
    )


def points() -> list[list[float]]:
    axis = [-float("inf"), *(n / 2 for n in range(-16, 28))]
    return [[a, b] for a in axis for b in axis]


@given(interests(), events)
def test_a_box_holds_the_events_that_its_interest_asks_for(
    interest: RangeInterest, attributes: dict[str, float]
) -> None:
    placed = SPACE.place(Event(1, 2, attributes=attributes))
    assert SPACE.box(interest).has(placed.values) == asks_for(interest, attributes)
    assert SPACE.event(placed, 3) == Event(1, 2, attributes=attributes, hops=3)


@settings(max_examples=40)
@example(SPACE.box(RangeInterest({"a": (2.0, 2.0)})), SPACE.box(RangeInterest({}, {"a": frozenset({2.0})})))
@given(boxes, boxes)
def test_boxes_that_cover_each_other_are_equal(one: Box, other: Box) -> None:
    assert (one.covers(other) and other.covers(one)) == (one == other)


@given(boxes, boxes)
def test_a_box_that_covers_another_one_holds_all_that_is_in_it(one: Box, other: Box) -> None:
    inside = all(one.has(point) for point in points() if other.has(point))
    if one.covers(other):
        assert inside
    elif one.sets is None and other.sets is None:
        assert not inside


@settings(max_examples=40)
@given(boxes, numbers, numbers)
def test_a_clipped_box_holds_what_is_in_the_box_and_in_the_zone(box: Box, low: float, high: float) -> None:
    zone = SPACE.box(RangeInterest({"a": (min(low, high), max(low, high))}))
    clipped = box.clip(zone)
    for point in points():
        assert (clipped is not None and clipped.has(point)) == (box.has(point) and zone.has(point))


@given(boxes)
def test_a_box_is_the_same_after_its_way_in_a_message(box: Box) -> None:
    update = decode("FilterUpdate", FilterUpdate(added=[filter_of(box)]).encode())
    assert isinstance(update, FilterUpdate)
    assert box_of(update.added[0]) == box


@settings(max_examples=60)
@given(st.lists(st.tuples(boxes, st.integers(0, 3), st.booleans())), events, boxes)
def test_the_index_finds_what_looking_at_every_box_finds(
    steps: list[tuple[Box, int, bool]], attributes: dict[str, float], asked: Box
) -> None:
    index = BoxIndex(SPACE.whole, SPACE.lows, SPACE.highs)
    held: set[tuple[Box, int]] = set()
    for box, owner, there in steps:
        if there:
            assert index.add(box, owner) == ((box, owner) not in held)
            held.add((box, owner))
        else:
            assert index.discard(box, owner) == ((box, owner) in held)
            held.discard((box, owner))
    values = SPACE.place(Event(1, 2, attributes=attributes)).values
    assert set(index.items()) == held and len(index) == len(held)
    assert set(index.owners_matching(values)) == {owner for box, owner in held if box.has(values)}
    assert set(index.owners_matching(values, 1)) == {o for box, o in held if box.has(values) and o != 1}
    assert index.any_covers(asked, 2) == any(box.covers(asked) for box, owner in held if owner == 2)
    assert set(index.covered(asked)) == {each for each in held if asked.covers(each[0])}
    assert set(index.covered(asked, 2)) == {e for e in held if asked.covers(e[0]) and e[1] == 2}
    assert set(index.covered(asked, but=2)) == {e for e in held if asked.covers(e[0]) and e[1] != 2}


@settings(max_examples=60)
@given(st.lists(st.tuples(boxes, st.integers(0, 4), st.booleans())), st.integers(0, 3))
def test_neighbours_know_the_largest_boxes_that_are_wanted_on_the_other_side(
    steps: list[tuple[Box, int, bool]], opened_late: int
) -> None:
    """Owners 0 and 1 are subscribers here, 2 to 4 are neighbours."""
    heard: dict[int, set[Box]] = {2: set(), 3: set(), 4: set()}

    def hear(neighbour: int, box: Box, there: bool) -> None:
        if there:
            heard[neighbour] = {other for other in heard[neighbour] if not box.covers(other)} | {box}
        else:
            heard[neighbour].discard(box)

    routes = FilterRoutes(SPACE.whole, SPACE.lows, SPACE.highs, hear)
    for neighbour in (2, 3):
        routes.open(neighbour)
    held: dict[int, set[Box]] = {owner: set() for owner in range(5)}
    for place, (box, owner, there) in enumerate(steps):
        if place == opened_late:
            routes.open(4)
        if owner < 2:
            (routes.add_own if there else routes.remove_own)(owner, box)
            (held[owner].add if there else held[owner].discard)(box)
        elif owner in routes.neighbours:
            if there and any(other.covers(box) for other in held[owner]):
                continue  # a neighbour does not tell that
            (routes.add if there else routes.remove)(owner, box)
            if there:
                held[owner] = {other for other in held[owner] if not box.covers(other)}
            (held[owner].add if there else held[owner].discard)(box)
    for neighbour in routes.neighbours:
        wanted = set().union(*(held[owner] for owner in held if owner != neighbour))
        largest = {box for box in wanted if not any(o.covers(box) and o != box for o in wanted)}
        assert {
            b for b in heard[neighbour] if not any(o.covers(b) and o != b for o in heard[neighbour])
        } == largest
        assert set(routes.told(neighbour)) == heard[neighbour]


def test_boxes_of_one_size_are_told_in_the_order_in_which_they_came() -> None:
    # Not in one that hashes decide: a box without a set has another hash in each process.
    told: list[Box] = []
    routes = FilterRoutes(
        SPACE.whole, SPACE.lows, SPACE.highs, lambda neighbour, box, there: told.append(box)
    )
    asked = [
        RangeInterest({"b": (0.0, 1.0)}, {"a": frozenset({1.0, step / 100, 9.0})}) for step in range(200, 240)
    ]
    for interest in asked:
        routes.add_own(1, SPACE.box(interest))
    routes.open(2)
    assert told == [SPACE.box(interest) for interest in asked]


def test_the_index_compares_an_event_with_a_few_boxes_of_many() -> None:
    draw = random.Random(1)
    index = BoxIndex(SPACE.whole, SPACE.lows, SPACE.highs)
    held = []
    for owner in range(1000):
        low, other = draw.uniform(0, 9), draw.uniform(-5, 4)
        held.append(SPACE.box(RangeInterest({"a": (low, low + 1), "b": (other, other + 1)})))
        index.add(held[-1], owner)
    for _ in range(100):
        values = [draw.uniform(0, 10), draw.uniform(-5, 5)]
        found = index.owners_matching(values)
        assert found == [owner for owner, box in enumerate(held) if box.has(values)]
    assert index.compared < 100 * 1000 / 50


def test_the_index_finds_the_same_among_hundreds_of_boxes_that_come_and_go() -> None:
    draw = random.Random(2)
    index = BoxIndex(SPACE.whole, SPACE.lows, SPACE.highs)
    held: set[tuple[Box, int]] = set()

    def some_box() -> Box:
        low, other, width = draw.uniform(0, 9), draw.uniform(-5, 4), draw.choice([0.1, 1, 5])
        return SPACE.box(RangeInterest({"a": (low, low + width), "b": (other, other + width)}))

    for step in range(600):
        box, owner = some_box(), draw.randrange(4)
        index.add(box, owner)
        held.add((box, owner))
        if draw.random() < 0.3:
            gone = draw.choice(sorted(held, key=lambda each: (each[0].lows, each[1])))
            assert index.discard(*gone)
            held.discard(gone)
        if step % 20 == 0:
            asked, values = some_box(), [draw.uniform(0, 10), draw.uniform(-5, 5)]
            assert set(index.covered(asked)) == {each for each in held if asked.covers(each[0])}
            assert set(index.covered(asked, but=1)) == {e for e in held if asked.covers(e[0]) and e[1] != 1}
            assert index.any_covers(asked, 3) == any(b.covers(asked) for b, owner in held if owner == 3)
            assert set(index.owners_matching(values)) == {owner for b, owner in held if b.has(values)}
    assert set(index.discard_all(2)) == {box for box, owner in held if owner == 2}
    assert set(index.items()) == {each for each in held if each[1] != 2} and len(held) > 300
