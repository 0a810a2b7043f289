"""Who is asked for what, when: subscribers, publishers and lookups at peers that are up."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.churn.sessions import Sessions
from emulator.contract import identifiers
from emulator.workload.arrivals import draw_arrivals, draw_publishers
from emulator.workload.lookups import draw_lookups
from emulator.workload.spec import Lookups

PEERS = 6
SESSIONS = Sessions(
    np.array([0, 1, 1, 2], dtype=np.int32),
    np.array([0.0, 0.0, 60.0, 30.0]),
    np.array([100.0, 40.0, 100.0, 100.0]),
)
"""Peers 3, 4, 5 never come."""
ALWAYS = Sessions(np.arange(PEERS, dtype=np.int32), np.zeros(PEERS), np.full(PEERS, 100.0))


def is_up(peer: int, at: float) -> bool:
    rows = SESSIONS.peer == peer
    return bool(((SESSIONS.start[rows] <= at) & (at < SESSIONS.end[rows])).any())


def random() -> np.random.Generator:
    return np.random.default_rng(1)


def test_interests_arrive_at_random_times_at_peers_that_are_up() -> None:
    peer, start = draw_arrivals(3000, (10.0, 90.0), PEERS, SESSIONS, random())
    assert list(zip(peer, start, strict=True)) == sorted(zip(peer, start, strict=True))
    assert all(is_up(p, at) for p, at in zip(peer, start, strict=True))
    assert set(peer) == {0, 1, 2}
    assert np.histogram(start, bins=4, range=(10, 90))[0] / 3000 == pytest.approx([0.25] * 4, abs=0.03)
    gaps = np.diff(np.sort(start))
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.1)  # as exponential ones


def test_without_a_window_interests_are_held_from_the_first_join_by_any_peer() -> None:
    peer, start = draw_arrivals(600, (10.0, 10.0), PEERS, SESSIONS, random())
    assert (start == 0).all()
    assert np.bincount(peer, minlength=PEERS) / 600 == pytest.approx([1 / 6] * 6, abs=0.06)


def test_nobody_up_for_an_interest_is_told() -> None:
    with pytest.raises(ValueError, match="no peer is up then"):
        draw_arrivals(3, (100.0, 110.0), PEERS, SESSIONS, random())


def test_publishers_are_up_and_may_be_anybody() -> None:
    at = np.linspace(0, 99, 500)
    publisher = draw_publishers(at, None, PEERS, SESSIONS, random())
    assert all(is_up(p, time) for p, time in zip(publisher, at, strict=True))
    assert set(publisher) == {0, 1, 2}


def test_publishers_that_must_subscribe_do_so_by_then() -> None:
    at = np.linspace(20, 99, 300)
    held = (np.array([0, 2], dtype=np.int32), np.array([0.0, 50.0]))
    publisher = draw_publishers(at, held, PEERS, SESSIONS, random())
    assert set(publisher[at < 50]) == {0}
    assert set(publisher[at >= 50]) == {0, 2}
    with pytest.raises(ValueError, match="no subscriber is up then"):
        draw_publishers(at, (held[0][1:], held[1][1:]), PEERS, SESSIONS, random())


def test_lookups_are_a_poisson_process_of_the_rate() -> None:
    counts = [
        len(draw_lookups(Lookups(rate=5.0), (10.0, 30.0), PEERS, ALWAYS, np.random.default_rng(seed)).at)
        for seed in range(60)
    ]
    assert np.mean(counts) == pytest.approx(100, abs=5)
    assert np.var(counts) == pytest.approx(100, abs=50)
    drawn = draw_lookups(Lookups(rate=5.0), (10.0, 30.0), PEERS, SESSIONS, random())
    assert (np.diff(drawn.at) > 0).all()
    assert (drawn.at.min() >= 10, drawn.at.max() < 30) == (True, True)
    assert all(is_up(p, at) for p, at in zip(drawn.peer, drawn.at, strict=True))


def test_uniform_keys_cover_the_space_and_are_sixteen_bytes() -> None:
    keys = draw_lookups(Lookups(rate=100.0), (0.0, 20.0), PEERS, ALWAYS, random()).key
    assert {len(key) for key in keys} == {16}
    places = [identifiers.decode(key) / identifiers.RING.size for key in keys]
    assert np.histogram(places, bins=4, range=(0, 1))[0] / len(keys) == pytest.approx([0.25] * 4, abs=0.04)


def test_keys_of_peers_are_those_of_peers_that_are_up() -> None:
    lookups = Lookups(rate=20.0, keys="peers")
    drawn = draw_lookups(lookups, (0.0, 100.0), PEERS, SESSIONS, random())
    owner = {identifiers.encode(identifiers.hash_of_peer(peer)): peer for peer in range(PEERS)}
    assert {owner[key] for key in drawn.key} == {0, 1, 2}
    assert all(is_up(owner[key], at) for key, at in zip(drawn.key, drawn.at, strict=True))
