"""Which peer a lookup is to end at, and what it is charged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.tables.lookups import Ring, judge
from emulator.identifiers import MASK, distance, encode, of_peer
from emulator.network.build import network_of
from emulator.network.spec import NetworkSpec

Session = tuple[int, float, float]

gaps = st.lists(st.integers(1, 20), min_size=1, max_size=6)


def sessions_of(peer: int, lengths: list[int]) -> list[Session]:
    """Sessions one after the other, with gaps: lengths of gap, session, gap, session, ..."""
    ends = np.cumsum(lengths).tolist()
    return [(peer, float(start), float(end)) for start, end in zip(ends[::2], ends[1::2], strict=False)]


def table(sessions: list[Session]) -> pa.Table:
    peers, starts, ends = zip(*sessions, strict=True) if sessions else ((), (), ())
    return pa.table(
        {
            "peer": pa.array(peers, pa.int32()),
            "start_s": pa.array(starts, pa.float64()),
            "end_s": pa.array(ends, pa.float64()),
        }
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(gaps, max_size=8),
    st.lists(st.tuples(st.integers(0, MASK), st.integers(0, 60), st.integers(0, 30)), min_size=1, max_size=5),
)
def test_the_closest_is_the_one_that_a_search_through_all_finds(
    lives: list[list[int]], asked: list[tuple[int, int, int]]
) -> None:
    sessions = [session for peer, lengths in enumerate(lives) for session in sessions_of(peer, lengths)]
    keys = [key for key, _, _ in asked]
    since = np.array([float(at) for _, at, _ in asked])
    until = np.array([float(at + more) for _, at, more in asked])
    found = Ring(table(sessions)).closest(keys, since, until)
    for key, first, last, peer in zip(keys, since, until, found, strict=True):
        up = {p for p, start, end in sessions if start <= first and end > last}
        least = min((distance(of_peer(p), key) for p in up), default=None)
        assert (peer is None) == (least is None)
        if peer is not None:
            assert peer in up and distance(of_peer(peer), key) == least


def test_direct_delay_is_the_networks_and_nothing_at_the_origin() -> None:
    rtt = np.array([[0, 80, 60], [80, 0, 20], [60, 20, 0]], np.float32) / 1000
    network = network_of(rtt, 0.001, [2, 1, 0], NetworkSpec())
    peers = pa.table(
        {
            "peer": pa.array([0, 1, 2], pa.int32()),
            "start_s": [1.0, 1.0, None],
            "end_s": pa.array([90.0, 90.0, None], pa.float64()),
        }
    )
    rows = {
        "trial": ["t", "t", "t"],
        "lookup": pa.array([0, 1, 2], pa.int32()),
        "origin": pa.array([0, 1, 0], pa.int32()),
        "key": pa.array([encode(of_peer(1))] * 3, pa.binary()),
        "at_s": [50.0, 51.0, 96.0],
        "join_end_s": [10.0] * 3,
        "trial_end_s": [100.0] * 3,
        "delivered_s": [50.25, 51.0, None],
        "peer": pa.array([1, 1, None], pa.int32()),
        "hops": pa.array([2, 0, None], pa.int32()),
        "copies": pa.array([1, 1, 0], pa.int64()),
    }
    first, second, third = judge(pa.table(rows), peers, network).to_pylist()
    assert (first["delay_ms"], round(first["direct_ms"], 3)) == (250.0, 10.0)
    assert (second["delay_ms"], second["direct_ms"], second["right"]) == (0.0, 0.0, True)
    assert (first["counted"], third["counted"], third["delivered"]) == (True, False, False)
    assert third["right"] is False and third["direct_ms"] is None
