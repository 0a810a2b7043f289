"""How many members the printed condition of Algorithm 2 puts off the greedy paths of a ring that stays."""

from __future__ import annotations

import random

from magnet_world import TOPIC, TreeWorld

PEERS = 300
LONG_LINKS = 17
MEMBERS = 50
BITS = 24
SEEDS = range(6)


def long_links(onward: list[int], rng: random.Random) -> set[int]:
    """Return the long links of a peer that these follow: uniform peers of uniform partitions between exact
    medians."""
    partitions = []
    end = len(onward)
    while end:
        partitions.append(onward[end // 2 : end])
        end //= 2
    chosen = {onward[0]}
    while len(chosen) < 1 + LONG_LINKS:
        chosen.add(rng.choice(rng.choice(partitions)))
    return chosen


def off_the_paths(seed: int, graft: str) -> int:
    """Return the members whose way from the home is not the greedy path, after joins at random known
    members."""
    rng = random.Random(seed)
    peers = sorted(rng.sample(range(1 << BITS), PEERS))
    fingers = {
        peer: sorted(long_links(peers[place + 1 :] + peers[:place], rng)) for place, peer in enumerate(peers)
    }
    home, *members = rng.sample(peers, 1 + MEMBERS)
    world = TreeWorld(fingers, bits=BITS, home=home, graft=graft)
    for number, member in enumerate(members):
        world.join(member, known=rng.choice(members[:number]) if number else -1)
    return sum(way_to(world, member) != world.greedy_path(member) for member in members)


def way_to(world: TreeWorld, member: int) -> list[int]:
    """Return the way from the home as children have their parents, or from where it is found to run in a
    circle."""
    way = [member]
    while way[-1] != world.home and way[-1] not in way[:-1]:
        way.append(world.peer(way[-1]).trees.branches[TOPIC].parent)
    return way[::-1]


def test_the_printed_condition_puts_some_members_off_the_greedy_paths_and_the_interval_none() -> None:
    shares = {
        graft: sum(off_the_paths(seed, graft) for seed in SEEDS) / (len(SEEDS) * MEMBERS)
        for graft in ("printed", "interval")
    }
    assert 0.01 < shares["printed"] < 0.15
    assert shares["interval"] == 0
