"""The index that servers match events with, beside looking at each subscription: ranges and sets."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from emulator.compiler.finder import WHY_INTERPRETED
from emulator.protocols.pubsub.content.index import BoxIndex
from emulator.protocols.pubsub.content.space import Box, EventSpace

OWNERS = 100
EVENTS = 1000
HITS = 50
"""One of so many boxes has an event."""
WIDTH = 1000.0
SIZES = (500, 5000)


def main() -> None:
    """Print, for each number of attributes and boxes, the time to add a box and to match an event."""
    for kind, most in (("ranges", 3), ("sets", 2)):
        for attributes in range(1, most + 1):
            for count in SIZES if attributes == 1 else SIZES[1:]:
                _measure(kind, attributes, count)


def _measure(kind: str, attributes: int, count: int) -> None:
    draw = random.Random(f"{kind} {attributes} {count}")
    space = EventSpace.of({f"a{number}": (0.0, WIDTH) for number in range(attributes)})
    share = (1 / HITS) ** (1 / attributes)
    make = _range if kind == "ranges" else _set
    boxes = [make(draw, attributes, share) for _ in range(count)]
    events = [[float(draw.randrange(int(WIDTH))) for _ in range(attributes)] for _ in range(EVENTS)]
    index = BoxIndex(space.whole, space.lows, space.highs)
    began = time.process_time()
    for number, box in enumerate(boxes):
        index.add(box, number % OWNERS)
    adding = (time.process_time() - began) / count
    began = time.process_time()
    found = [index.owners_matching(values) for values in events]
    matching = (time.process_time() - began) / EVENTS
    some = events[: EVENTS // 10]
    began = time.process_time()
    expected = [_by_looking_at_each(boxes, values) for values in some]
    looking = (time.process_time() - began) / len(some)
    assert [set(owners) for owners in found[: len(some)]] == expected
    print(
        f"matching {kind}, {attributes} attributes, {count} boxes of {OWNERS} owners: {adding * 1e6:.1f} us "
        f"to add one, {matching * 1e6:.0f} us to match an event, {looking * 1e6:.0f} us by looking at each; "
        f"{index.compared / EVENTS:.0f} compared one by one, {WHY_INTERPRETED or 'compiled'}",
        flush=True,
    )


def _range(draw: random.Random, attributes: int, share: float) -> Box:
    lows = tuple([draw.uniform(-WIDTH * share, WIDTH) for _ in range(attributes)])
    return Box(lows, tuple([low + WIDTH * share for low in lows]))


def _set(draw: random.Random, attributes: int, share: float) -> Box:
    """Return a set of whole numbers that are drawn from all over the domain."""
    size = max(1, round(WIDTH * share))
    sets = tuple([frozenset(map(float, draw.sample(range(int(WIDTH)), size))) for _ in range(attributes)])
    return Box(tuple([min(each) for each in sets]), tuple([max(each) for each in sets]), sets)


def _by_looking_at_each(boxes: Sequence[Box], values: Sequence[float]) -> set[int]:
    return {number % OWNERS for number, box in enumerate(boxes) if box.has(values)}


if __name__ == "__main__":
    main()
