"""Random subscriptions and events of Li's system, and the check that each event finds its subscribers."""

from __future__ import annotations

import random

from li_world import LiWorld

from emulator.protocols.pubsub.li.parameters import LiParameters

DOMAINS = {"a": (0.0, 100.0), "b": (-50.0, 50.0)}


def parameters(**changes: object) -> LiParameters:
    """Return parameters with small leaves, so that trees grow, and without copies."""
    values = {"attributes": DOMAINS, "capacity": (2, 4), "min_level": 1, "max_level": 5, "replicas": 0}
    return LiParameters.model_validate({**values, **changes})


def random_ranges(draw: random.Random) -> dict[str, tuple[float, float]]:
    names = [name for name in DOMAINS if draw.random() < 0.6] or ["a"]
    ranges = {}
    for name in names:
        low, high = DOMAINS[name]
        middle, half = draw.uniform(low, high), draw.random() ** 2 * 40
        ranges[name] = middle - half, middle + half
    return ranges


def random_values(draw: random.Random) -> dict[str, float]:
    return {name: draw.uniform(*bounds) for name, bounds in DOMAINS.items()}


def grow(world: LiWorld, count: int, draw: random.Random) -> None:
    for _ in range(count):
        world.subscribe(draw.choice(world.ring.peers), random_ranges(draw))
    world.settle()


def check(world: LiWorld, count: int, draw: random.Random) -> None:
    for _ in range(count):
        event = world.publish(draw.choice(world.ring.peers), random_values(draw))
        world.settle(0)
        assert world.delivered(event) == world.interested(event)
