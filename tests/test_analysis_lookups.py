"""Which peer a lookup is to end at, and what it is charged."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.tables.closest import Homes
from analysis.tables.identifiers import Home, homes
from analysis.tables.lookups import judge
from emulator.contract.identifiers import SPACES, encode, hash_of_peer
from emulator.network.peer_network import Network
from emulator.network.spec import NetworkSpec

BITS = 8
"""Few, so that places coincide and prefixes are shared."""

lengths = st.lists(st.integers(1, 20), min_size=1, max_size=6)
places = st.integers(0, 2**BITS - 1)
TOLD = pa.schema(
    [
        ("peer", pa.int32()),
        ("start_s", pa.float64()),
        ("end_s", pa.float64()),
        ("taken_s", pa.float64()),
        ("channel", pa.string()),
        ("identifier", pa.string()),
        ("space", pa.string()),
        ("away_s", pa.float64()),
        ("back_s", pa.float64()),
    ]
)


def homes_of(peer: int, at: list[int], identifiers: list[int]) -> list[Home]:
    """Return homes one after the other, with gaps: lengths of gap, home, gap, home, ..."""
    ends = [float(end) for end in np.cumsum(at)]
    stays = zip(ends[::2], ends[1::2], strict=False)
    return [Home(where, peer, *stay) for where, stay in zip(identifiers, stays, strict=False)]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(SPACES)),
    st.lists(st.tuples(lengths, st.lists(places, min_size=3, max_size=3)), max_size=8),
    st.lists(st.tuples(places, st.integers(0, 60), st.integers(0, 30)), min_size=1, max_size=5),
)
def test_the_closest_is_the_one_that_a_search_through_all_finds(
    metric: str, lives: list[tuple[list[int], list[int]]], asked: list[tuple[int, int, int]]
) -> None:
    stays = [home for peer, (at, where) in enumerate(lives) for home in homes_of(peer, at, where)]
    keys = [key for key, _, _ in asked]
    since = np.array([float(at) for _, at, _ in asked])
    until = np.array([float(at + more) for _, at, more in asked])
    distance = SPACES[metric](BITS).distance
    found = Homes(stays, metric, BITS).closest(keys, since, until)
    for key, first, last, home in zip(keys, since, until, found, strict=True):
        there = {(h.identifier, h.peer) for h in stays if h.since_s <= first and h.until_s > last}
        least = min((distance(identifier, key) for identifier, _ in there), default=None)
        assert (home is None) == (least is None)
        if home is not None:
            assert home in there and distance(home[0], key) == least


def test_the_closest_by_exclusive_or_need_not_be_next_to_the_key() -> None:
    stays = [Home(4, 0, 1.0, 90.0), Home(7, 1, 1.0, 90.0), Home(6, 2, 1.0, 20.0), Home(9, 3, 1.0, 90.0)]
    assert Homes(stays, "xor", BITS).closest([3], np.array([30.0]), np.array([31.0])) == [(7, 1)]


def test_a_metric_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="'hamming'"):
        Homes([], "hamming", BITS)


def test_a_peer_keeps_an_identifier_until_it_takes_another_or_leaves() -> None:
    taken = [(1, 5.0, 10), (1, 20.0, 11), (2, 6.0, 12), (1, 50.2, 13)]
    sessions = [(1, 5.0, 30.0), (1, 40.0, 45.0), (1, 51.0, 60.0), (2, 6.0, 60.0), (3, 1.0, 60.0)]
    assert list(homes(taken, sessions)) == [
        Home(10, 1, 5.0, 20.0),
        Home(11, 1, 20.0, 30.0),
        Home(13, 1, 51.0, 60.0),
        Home(12, 2, 6.0, 60.0),
    ], "peer 1 told none in its second session, peer 3 never; the last one is told by a clock that is behind"


def told(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), TOLD)


def up(peer: int, start_s: float, end_s: float) -> dict[str, Any]:
    return {"peer": peer, "start_s": start_s, "end_s": end_s}


def took(
    peer: int, taken_s: float, identifier: int, space: str = "ring", channel: str = "overlay"
) -> dict[str, Any]:
    told = {"peer": peer, "taken_s": taken_s, "channel": channel, "space": space}
    return told | {"identifier": f"{identifier:x}"}


def found(*rows: tuple[float, int, int | None, float | None], keys: list[bytes]) -> pa.Table:
    """Return lookups by peer 0: at, number, where each ended and when."""
    at, numbers, ends, delivered = zip(*rows, strict=True)
    count = len(rows)
    return pa.table(
        {
            "trial": ["t"] * count,
            "lookup": pa.array(numbers, pa.int32()),
            "origin": pa.array([0] * count, pa.int32()),
            "key": pa.array(keys, pa.binary()),
            "at_s": pa.array(at, pa.float64()),
            "join_end_s": [10.0] * count,
            "trial_end_s": [100.0] * count,
            "delivered_s": pa.array(delivered, pa.float64()),
            "peer": pa.array(ends, pa.int32()),
            "hops": pa.array([1] * count, pa.int32()),
            "copies": pa.array([1] * count, pa.int64()),
        }
    )


def network() -> Any:
    rtt = np.array([[0, 80, 60], [80, 0, 20], [60, 20, 0]], np.float32) / 1000
    return Network([array("f", row.tobytes()) for row in rtt / 2], [2, 1, 0], NetworkSpec())


def test_direct_delay_is_the_networks_and_nothing_at_the_origin() -> None:
    key = encode(hash_of_peer(1))
    asked = found((50.0, 0, 1, 50.25), (51.0, 1, 0, 51.0), (96.0, 2, None, None), keys=[key] * 3)
    peers = told(*(up(peer, 1.0, 90.0) for peer in (0, 1)), *(took(p, 1.0, hash_of_peer(p)) for p in (0, 1)))
    first, second, third = judge(asked, peers, network()).to_pylist()
    assert (first["delay_ms"], round(first["direct_ms"], 3)) == (250.0, 10.0)
    assert (second["delay_ms"], second["direct_ms"], second["right"]) == (0.0, 0.0, False)
    assert (first["counted"], third["counted"], third["delivered"]) == (True, False, False)
    assert (first["right"], third["right"], third["direct_ms"]) == (True, False, None)


def test_lookups_are_judged_the_same_without_a_network_but_for_the_direct_delay() -> None:
    asked = found((50.0, 0, 1, 50.25), (51.0, 1, 0, 51.0), keys=[encode(hash_of_peer(1))] * 2)
    peers = told(*(up(peer, 1.0, 90.0) for peer in (0, 1)), *(took(p, 1.0, hash_of_peer(p)) for p in (0, 1)))
    with_network, without = judge(asked, peers, network()), judge(asked, peers, None)
    assert without["direct_ms"].null_count == 2 and with_network["direct_ms"].null_count == 0
    assert without.drop_columns("direct_ms") == with_network.drop_columns("direct_ms")


def test_the_last_five_seconds_of_a_trial_begin_after_their_first_instant() -> None:
    asked = found((95.0, 0, 1, 95.1), (95.001, 1, 1, 95.1), keys=[encode(hash_of_peer(1))] * 2)
    peers = told(*(up(peer, 1.0, 100.0) for peer in (0, 1)), *(took(p, 1.0, hash_of_peer(p)) for p in (0, 1)))
    assert [row["counted"] for row in judge(asked, peers, network()).to_pylist()] == [True, False]


@pytest.mark.parametrize(
    ("metric", "closest"),
    [("ring", 0), ("clockwise", 1), ("xor", 2)],
)
def test_who_is_right_follows_from_the_metric_that_peers_tell(metric: str, closest: int) -> None:
    """Peer 0 is just below the key 0x80..0, peer 1 is above it, and peer 2 shares the first bit with it."""
    key = 1 << 255
    places = {0: key - 1, 1: key + (1 << 254), 2: key + (1 << 254) - (1 << 200)}
    if metric == "clockwise":
        places[2] = key - 2
    peers = told(*(up(p, 1.0, 90.0) for p in places), *(took(p, 1.0, at, metric) for p, at in places.items()))
    keys = [key.to_bytes(32, "big")] * 3
    rows = judge(found(*((50.0, p, p, 50.1) for p in places), keys=keys), peers, network()).to_pylist()
    assert [row["closest"] for row in rows] == [closest] * 3
    assert [row["right"] for row in rows] == [peer == closest for peer in places]


def test_a_peer_that_moved_meanwhile_need_not_be_found_and_may_be() -> None:
    """Peer 1 moves next to the key at 45 s, when 2 has been the closest for long, and away again at 70 s."""
    key = 1000
    peers = told(
        *(up(peer, 1.0, 90.0) for peer in range(3)),
        *(took(0, 1.0, 1 << 90), took(1, 1.0, 1 << 91), took(2, 1.0, 1010)),
        *(took(1, 45.0, 1001), took(1, 70.0, 1 << 91)),
    )
    asked = found(
        *((50.0, 0, 2, 50.1), (50.0, 1, 1, 50.1), (60.0, 2, 2, 60.1), (71.0, 3, 1, 71.1)),
        keys=[encode(key)] * 4,
    )
    rows = judge(asked, peers, network()).to_pylist()
    assert [row["closest"] for row in rows] == [2, 2, 1, 2]
    assert [row["right"] for row in rows] == [True, True, False, False]


def test_a_peer_that_told_no_identifier_is_neither_expected_nor_right() -> None:
    peers = told(up(0, 1.0, 90.0), up(1, 1.0, 90.0), up(2, 1.0, 90.0), took(0, 1.0, 5), took(1, 1.0, 1 << 90))
    asked = found((50.0, 0, 0, 50.1), (50.0, 1, 2, 50.1), keys=[encode(4)] * 2)
    rows = judge(asked, peers, network()).to_pylist()
    assert [(row["closest"], row["right"]) for row in rows] == [(0, True), (0, False)]
    nobody = judge(asked, told(up(0, 1.0, 90.0)), network()).to_pylist()
    assert [(row["closest"], row["right"]) for row in nobody] == [(None, False)] * 2


def away(peer: int, away_s: float, back_s: float) -> dict[str, Any]:
    return {"peer": peer, "away_s": away_s, "back_s": back_s}


def test_lookups_for_a_peer_whose_host_died_are_left_out_until_it_is_back() -> None:
    """Peer 1, the closest to the key, is away from 50 s to 60 s: nobody knows what it was given last."""
    asked = found(
        *((44.0, 0, None, None), (46.0, 1, None, None), (47.0, 2, 1, 47.1)),
        *((55.0, 3, 2, 55.1), (61.0, 4, None, None)),
        keys=[encode(1000)] * 5,
    )
    peers = [
        *(up(0, 1.0, 90.0), up(1, 1.0, 50.0), up(1, 60.0, 90.0), up(2, 1.0, 90.0)),
        *(took(0, 1.0, 1 << 90), took(1, 1.0, 1001), took(1, 60.0, 1001), took(2, 1.0, 2000)),
    ]
    rows = judge(asked, told(*peers, away(1, 50.0, 60.0)), network()).to_pylist()
    assert [row["counted"] for row in rows] == [True, False, False, False, True]
    assert all(row["counted"] for row in judge(asked, told(*peers), network()).to_pylist())


def test_lookups_of_a_peer_whose_host_died_are_left_out() -> None:
    asked = found((40.0, 0, 1, 40.1), (49.0, 1, None, None), keys=[encode(1000)] * 2)
    peers = [up(0, 1.0, 50.0), up(1, 1.0, 90.0), took(0, 1.0, 1 << 90), took(1, 1.0, 1001)]
    rows = judge(asked, told(*peers, away(0, 50.0, 90.0)), network()).to_pylist()
    assert [row["counted"] for row in rows] == [True, False]


def test_a_peer_with_several_nodes_is_right_with_any_of_its_identifiers() -> None:
    """Peer 1 is at 100 and, as another node, at 1000; peer 2 is at 900; a key belongs to its successor."""
    peers = told(
        *(up(peer, 1.0, 90.0) for peer in range(3)),
        *(took(0, 1.0, 5000, "clockwise", f"node-{node}") for node in range(2)),
        *(took(1, 1.0, 100, "clockwise", "node-0"), took(1, 1.0, 1000, "clockwise", "node-1")),
        *(took(2, 1.0, 900, "clockwise", "node-0"), took(2, 1.0, 6000, "clockwise", "node-1")),
    )
    ends = [(50, 1), (950, 1), (950, 2), (800, 2), (800, 1), (5500, 2)]
    asked = found(
        *((50.0, number, end, 50.1) for number, (_, end) in enumerate(ends)),
        keys=[encode(key) for key, _ in ends],
    )
    rows = judge(asked, peers, network()).to_pylist()
    assert [row["closest"] for row in rows] == [1, 1, 1, 2, 2, 2]
    assert [row["right"] for row in rows] == [True, True, False, True, False, True]
