"""Kyra and filter-based routing on links that lose, delay and reorder, and with servers that crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from content_world import ContentWorld, content_world

from emulator.layouts.cliques import cluster
from emulator.layouts.trees import spanning_length

KYRA: dict[str, Any] = {
    "cliques": {"size": 6, "diameter": "200 ms", "expiry": "20 s"},
    "formation": "40 s",
    "notice": "5 s",
}
SETTLED = 70.0
NETWORKS = {
    "quiet": {},
    "jitter": {"jitter": "20 ms"},
    "loss": {"jitter": "20 ms", "loss": 0.01},
}


def world(
    system: str, path: Path, network: str = "quiet", servers: int = 30, seed: int = 1, **others: Any
) -> ContentWorld:
    parameters = (KYRA if system == "kyra" else {}) | others
    made = content_world(system, path, servers, NETWORKS[network], seed, **parameters)
    made.run_until(10.0)
    for _ in range(60):
        made.ask(made.draw.choice(made.up))
    made.run_until(SETTLED)
    return made


def crash_a_fifth(made: ContentWorld) -> None:
    made.crash(made.draw.sample(made.up, len(made.up) // 5))


@pytest.mark.parametrize("system", ["siena", "kyra"])
def test_every_event_is_handed_over_once_before_and_10_s_after_a_fifth_crashed(
    system: str, tmp_path: Path
) -> None:
    made = world(system, tmp_path)
    expected = made.publish(range(80))
    made.run_for(2.0)
    assert sorted(made.handed) == sorted(expected)
    crash_a_fifth(made)
    made.run_for(10.0)
    made.handed.clear()
    expected = made.publish(range(100, 180))
    made.run_for(2.0)
    assert sorted(made.handed) == sorted(expected)


def test_trees_and_the_number_of_cliques_are_nearly_those_of_who_sees_all_delays(tmp_path: Path) -> None:
    made = world("kyra", tmp_path)
    rtt = 2 * np.array([[made.one_way(a, b) if a != b else 0.0 for b in made.up] for a in made.up])
    epochs = {peer: made.server(peer).epochs[-1] for peer in made.up}
    length = shortest = 0.0
    for tree in range(epochs[0].epoch.trees):
        parents = {
            p: state.trees.tree(tree).links.parent
            for p, state in epochs.items()
            if state.trees.tree(tree) is not None
        }
        assert sum(parent is None for parent in parents.values()) == 1
        length += sum(rtt[child, parent] for child, parent in parents.items() if parent is not None)
        shortest += spanning_length(rtt[np.ix_(list(parents), list(parents))])
    assert length <= 1.25 * shortest
    cliques = {tuple(made.server(peer).cliques.view.members) for peer in made.up}
    assert sorted(peer for members in cliques for peer in members) == made.up
    assert len(cliques) <= 1.25 * len(cluster(rtt, 0.2, 6, 3))


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_nothing_is_missed_when_cliques_merge_and_zones_change_hands(seed: int, tmp_path: Path) -> None:
    made = world("kyra", tmp_path, servers=40, seed=seed, formation="60 s")
    crash_a_fifth(made)
    made.run_for(10.0)
    made.handed.clear()
    before = holdings(made)
    expected = made.publish(range(600))
    made.run_for(10.0)
    assert len(before.items() ^ holdings(made).items()) > 10
    assert sorted(made.handed) == sorted(expected)


@pytest.mark.parametrize(("seed", "away"), [(1, 1.2), (2, 0.3)])
def test_a_server_that_comes_back_before_it_is_missed_is_told_again_what_its_mates_want(
    seed: int, away: float, tmp_path: Path
) -> None:
    made = world("kyra", tmp_path, seed=seed)
    for peer in made.draw.sample(made.up, 10):
        made.crash([peer])
        made.run_for(away)
        made.come_back(peer)
        made.run_for(4.0)
    made.run_for(40.0)
    expected = made.publish(range(200))
    made.run_for(10.0)
    assert sorted(made.handed) == sorted(expected)


def holdings(made: ContentWorld) -> dict[tuple[int, int], int]:
    """Return the holder of each zone, by server."""
    return {
        (peer, number): piece.holder
        for peer in made.up
        for number, piece in enumerate(made.server(peer).epochs[-1].zones.pieces)
    }


@pytest.mark.parametrize("system", ["siena", "kyra"])
def test_with_jitter_what_is_asked_for_and_taken_back_is_what_arrives(system: str, tmp_path: Path) -> None:
    made = world(system, tmp_path, "jitter")
    for peer in [peer for peer, asked in made.interests.items() if len(asked) > 1]:
        made.take_back(peer)
    for _ in range(10):
        made.ask(made.draw.choice(made.up))
    made.run_for(8.0)
    expected = made.publish(range(60))
    made.run_for(3.0)
    assert sorted(made.handed) == sorted(expected)


@pytest.mark.parametrize("system", ["siena", "kyra"])
def test_with_loss_only_lost_copies_are_missed_and_none_comes_twice(system: str, tmp_path: Path) -> None:
    made = world(system, tmp_path, "loss")
    expected = made.publish(range(80))
    made.run_for(3.0)
    handed = set(made.handed)
    assert len(handed) == len(made.handed) and handed <= expected
    assert len(handed) > 0.9 * len(expected)


def test_events_over_the_cliques_trees_are_handed_over_once(tmp_path: Path) -> None:
    made = world("kyra", tmp_path, spread="tree")
    expected = made.publish(range(60))
    made.run_for(2.0)
    assert sorted(made.handed) == sorted(expected)


def test_zones_are_drawn_anew_for_skewed_events_and_nothing_is_missed_meanwhile(tmp_path: Path) -> None:
    made = world("kyra", tmp_path)
    before = {made.server(peer).gauges()["epoch"] for peer in made.up}
    expected = made.publish(range(900), every=0.06, skewed=True)
    made.run_for(30.0)
    assert sorted(made.handed) == sorted(expected)
    after = {made.server(peer).gauges()["epoch"] for peer in made.up}
    assert len(before) == len(after) == 1 and min(after) > max(before)
    assert all(len(made.server(peer).epochs) == 1 for peer in made.up)
