"""Li over Pastry on links that lose, delay and reorder messages, and with peers that crash."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from small_trial import make_plan, trial_spec
from test_pubsub_li import random_ranges, random_values

from emulator.contract.protocol import Event, Outcome, PubSub, RangeInterest
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.network.build_network import build_network
from emulator.protocols.pubsub.li.node import Name
from emulator.protocols.pubsub.li.pieces import matches
from emulator.protocols.pubsub.li.system import Li
from emulator.runtime.virtual.event_loop import VirtualWorld
from emulator.runtime.virtual.life import VirtualLife
from emulator.telemetry.recorder import Recorder

PEERS = 30
DOMAINS = {"a": [0.0, 100.0], "b": [-50.0, 50.0]}
REPLICAS = 3
PARAMETERS = {
    "attributes": DOMAINS,
    "capacity": [2, 4],
    "min_level": 1,
    "max_level": 5,
    "replicas": REPLICAS,
    "comparison": "2 s",
}


class World(VirtualWorld):
    """A world that keeps what applications are handed."""

    def __init__(self, spec: TrialSpec, plan: Plan, path: Path) -> None:
        network = build_network(spec.network, plan.peers["location"].to_pylist(), spec.seed)
        recorder = Recorder(
            path, "virtual", experiment="li", trial="network", seed=spec.seed, start_unix_ns=10**18
        )
        super().__init__(spec, plan, network, recorder)
        self.handed: list[tuple[int, int]] = []
        """(event, peer)"""

    def hand_over(self, life: VirtualLife, outcome: Outcome) -> None:
        if isinstance(outcome, Event):
            self.handed.append((outcome.number, life.peer))
        super().hand_over(life, outcome)

    def systems(self) -> dict[int, Li]:
        found: dict[int, Li] = {}
        for peer, life in enumerate(self._lives):
            if life is not None:
                protocol = life.protocol
                assert isinstance(protocol, Li)
                found[peer] = protocol
        return found

    def ask(self, peer: int, interest: RangeInterest) -> None:
        protocol = self.systems()[peer]
        protocol.subscribe(interest)

    def publish(self, number: int, publisher: int, values: Mapping[str, float]) -> None:
        protocol = self.systems()[publisher]
        assert isinstance(protocol, PubSub)
        protocol.publish(Event(number, publisher, attributes=values))
        self.context = None


def copies(world: World) -> dict[Name, dict[int, int]]:
    """Return the digests of each node by peer, the nearest first."""
    systems = world.systems()
    space, schema = systems[0].overlay.space, systems[0].schema
    found: dict[Name, dict[int, int]] = {}
    for peer in systems:
        for name in systems[peer].tree.nodes:
            found.setdefault(name, {})
    for name in found:
        key = schema.key(*name)
        nearest = sorted(systems, key=lambda p: space.distance(systems[p].overlay.identifier, key))
        for peer in nearest:
            node = systems[peer].tree.nodes.get(name)
            if node is not None:
                found[name][peer] = node.digest
            elif peer in nearest[: REPLICAS + 1]:
                found[name][peer] = -1
    return found


@pytest.mark.parametrize(
    "network",
    [
        {"jitter": "2 ms"},
        {"jitter": "20 ms"},
        {"loss": 0.005},
        {"loss": 0.01, "jitter": "20 ms"},
    ],
    ids=["jitter-2ms", "jitter-20ms", "loss-half", "loss-one-jitter-20ms"],
)
def test_every_delivery_is_made_before_and_after_a_tenth_of_the_peers_crashes(
    network: dict[str, Any], tmp_path: Path
) -> None:
    draw = random.Random(1)
    gone = draw.sample(range(1, PEERS), PEERS // 10)
    crash, end = 120.0, 300.0
    sessions = [(peer, 0.2 * peer, crash if peer in gone else end) for peer in range(PEERS)]
    spec = trial_spec("li", PEERS, end, network=network)
    system = spec.system.model_copy(update={"parameters": PARAMETERS})
    spec = spec.model_copy(update={"system": system})
    world = World(spec, make_plan(PEERS, sessions), tmp_path)
    world.run_until(30.0)
    asked: list[tuple[int, RangeInterest]] = []
    for _ in range(80):
        asked.append((draw.randrange(PEERS), RangeInterest(random_ranges(draw))))
        world.ask(*asked[-1])
        world.run_until(world.time + 0.1)
    world.run_until(80.0)
    expected: set[tuple[int, int]] = set()

    def publish(numbers: range) -> None:
        for number in numbers:
            values = random_values(draw)
            up = world.systems()
            publisher = draw.choice(sorted(up))
            expected.update(
                (number, peer)
                for peer, interest in asked
                if peer in up and peer != publisher and matches(interest.ranges, values, False)
            )
            world.publish(number, publisher, values)
            world.run_until(world.time + 0.2)

    publish(range(60))
    world.run_until(crash + 60.0)
    publish(range(60, 120))
    world.run_until(end - 1.0)
    assert len(world.handed) == len(set(world.handed))
    assert set(world.handed) == expected
    for name, digests in copies(world).items():
        assert len(digests) == REPLICAS + 1, name
        assert len(set(digests.values())) == 1, name
