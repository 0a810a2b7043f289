"""Who is interested in an event with attributes: against a matcher that does it one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.tables.content import match
from emulator.workload.table_schemas import RANGES, VALUES

END_S = 100.0
EVENTS = pa.schema(
    [
        ("trial", pa.string()),
        ("event", pa.int32()),
        ("published_s", pa.float64()),
        ("trial_end_s", pa.float64()),
        ("attributes", VALUES),
    ]
)
SUBSCRIPTIONS = pa.schema(
    [
        ("peer", pa.int32()),
        ("ranges", RANGES),
        ("start_s", pa.float64()),
        ("end_s", pa.float64()),
        ("sessions", pa.list_(pa.struct([("start_s", pa.float64()), ("end_s", pa.float64())]))),
    ]
)
Ranges = dict[str, tuple[float, float] | frozenset[float]]
Asked = tuple[int, Ranges, float, float]
"""(peer, ranges, asked, given up)"""

numbers = st.integers(0, 4).map(float)
bounds = st.one_of(st.tuples(numbers, numbers), st.frozensets(numbers, min_size=1))
ranges = st.dictionaries(st.sampled_from("xyz"), bounds, max_size=3)
times = st.integers(0, 20).map(lambda tick: tick * 5.0)
asked = st.tuples(st.integers(0, 4), ranges, times, times)
events = st.tuples(st.dictionaries(st.sampled_from("xyz"), numbers, max_size=3), times)


def part(name: str, wanted: tuple[float, float] | frozenset[float]) -> dict[str, Any]:
    """Return the wanted part of an attribute as the plan has it."""
    if isinstance(wanted, tuple):
        return {"attribute": name, "low": wanted[0], "high": wanted[1]}
    return {"attribute": name, "low": min(wanted), "high": max(wanted), "values": sorted(wanted)}


def is_wanted(value: float, wanted: tuple[float, float] | frozenset[float]) -> bool:
    return wanted[0] <= value <= wanted[1] if isinstance(wanted, tuple) else value in wanted


def matches(
    published: list[tuple[dict[str, float], float]],
    subscriptions: list[Asked],
    up: dict[int, list[tuple[float, float]]],
) -> dict[tuple[int, int], bool]:
    """Return the expected matches by (event, peer)."""
    rows = [
        {
            "trial": "t",
            "event": number,
            "published_s": at,
            "trial_end_s": END_S,
            "attributes": [{"attribute": name, "value": value} for name, value in values.items()],
        }
        for number, (values, at) in enumerate(published)
    ]
    held = [
        {
            "peer": peer,
            "ranges": [part(name, wanted) for name, wanted in of.items()],
            "start_s": start,
            "end_s": end,
            "sessions": [{"start_s": s, "end_s": e} for s, e in up[peer]],
        }
        for peer, of, start, end in subscriptions
    ]
    found = match(pa.Table.from_pylist(rows, EVENTS), pa.Table.from_pylist(held, SUBSCRIPTIONS)).to_pylist()
    assert len({(row["event"], row["peer"]) for row in found}) == len(found)
    return {(row["event"], row["peer"]): row["expected"] for row in found}


def long_enough(start: float, end: float, at: float) -> bool:
    return start <= at - 10 and end >= min(at + 5, END_S)


@settings(max_examples=150, deadline=None)
@given(st.lists(events, max_size=6), st.lists(asked, max_size=8), st.data())
def test_matching_equals_brute_force(
    published: list[tuple[dict[str, float], float]], subscriptions: list[Asked], data: st.DataObject
) -> None:
    sessions = st.lists(st.tuples(times, times), min_size=1, max_size=3)
    up = {peer: data.draw(sessions) for peer in {s[0] for s in subscriptions}}
    expected: dict[tuple[int, int], Any] = {}
    for number, (values, at) in enumerate(published):
        for peer, of, start, end in subscriptions:
            inside = all(name in values and is_wanted(values[name], wanted) for name, wanted in of.items())
            if inside and start <= at < end:
                due = long_enough(start or -10.0, end, at)
                is_up = any(long_enough(*session, at) for session in up[peer])
                key = number, peer
                expected[key] = expected.get(key, False) or (due and is_up)
    assert matches(published, subscriptions, up) == expected


def test_bounds_belong_to_a_range_and_an_absent_attribute_matches_nothing() -> None:
    up = {peer: [(0.0, END_S)] for peer in range(3)}
    subscriptions: list[Asked] = [
        (0, {"x": (1, 2)}, 0, END_S),
        (1, {"x": (0, 9), "y": (0, 9)}, 0, END_S),
        (2, {}, 0, END_S),
    ]
    published = [({"x": 2.0}, 50.0), ({"x": 1.0, "y": 9.0}, 50.0), ({"x": 2.1}, 50.0)]
    assert matches(published, subscriptions, up) == {
        (0, 0): True,
        (0, 2): True,
        (1, 0): True,
        (1, 1): True,
        (1, 2): True,
        (2, 2): True,
    }


def test_a_subscription_made_while_up_counts_after_ten_seconds() -> None:
    up = {0: [(0.0, END_S)]}
    subscriptions: list[Asked] = [(0, {"x": (0, 9)}, 20.0, 60.0)]
    published = [({"x": 1.0}, at) for at in (19.0, 20.0, 29.0, 30.0, 55.0, 56.0, 60.0)]
    found = matches(published, subscriptions, up)
    assert found == {(1, 0): False, (2, 0): False, (3, 0): True, (4, 0): True, (5, 0): False}
