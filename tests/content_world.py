"""Content systems on the virtual clock, and what their applications were handed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from emulator.contract.protocol import Event, Outcome, PubSub, RangeInterest
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.layouts.layout import lay_out
from emulator.network.build_network import build_network
from emulator.runtime.script import Join
from emulator.runtime.virtual.event_loop import VirtualWorld
from emulator.runtime.virtual.life import VirtualLife
from emulator.telemetry.recorder import Recorder

DOMAIN = (0.0, 100.0)
ATTRIBUTES = {"x": list(DOMAIN), "y": list(DOMAIN)}


class ContentWorld(VirtualWorld):
    """Servers that join within the first seconds, and then do what a test asks."""

    def __init__(self, spec: TrialSpec, plan: Plan, path: Path) -> None:
        network = build_network(spec.network, plan.peers["location"].to_pylist(), spec.seed)
        recorder = Recorder(
            path, "virtual", experiment="content", trial="world", seed=spec.seed, start_unix_ns=10**18
        )
        super().__init__(spec, plan, network, recorder)
        self.handed: list[tuple[int, int]] = []
        """(event, peer)"""
        self.interests: dict[int, list[RangeInterest]] = {}
        self.draw = random.Random(spec.seed)

    def hand_over(self, life: VirtualLife, outcome: Outcome) -> None:
        if isinstance(outcome, Event):
            self.handed.append((outcome.number, life.peer))
        super().hand_over(life, outcome)

    def server(self, peer: int) -> Any:
        """Return the protocol of a server that is up."""
        life = self._lives[peer]
        assert life is not None
        return life.protocol

    @property
    def up(self) -> list[int]:
        return [peer for peer, life in enumerate(self._lives) if life is not None]

    def one_way(self, peer: int, other: int) -> float:
        """Return the delay between two servers (s), without jitter."""
        return self._network.one_way(peer, other)

    def run_for(self, seconds: float) -> None:
        self.run_until(self.time + seconds)

    def ask(self, peer: int) -> None:
        """A server asks for a random box."""
        ranges = {}
        for name in ATTRIBUTES:
            low = self.draw.uniform(0, 80)
            ranges[name] = (low, low + self.draw.uniform(5, 40))
        interest = RangeInterest(ranges)
        self.interests.setdefault(peer, []).append(interest)
        protocol: PubSub = self.server(peer)
        protocol.subscribe(interest)
        self.context = None

    def take_back(self, peer: int) -> None:
        """A server takes its oldest box back."""
        protocol: PubSub = self.server(peer)
        protocol.unsubscribe(self.interests[peer].pop(0))
        self.context = None

    def publish(self, numbers: range, every: float = 0.1, skewed: bool = False) -> set[tuple[int, int]]:
        """Publish events at random servers that are up; the deliveries that are expected."""
        expected = set()
        for number in numbers:
            values = {name: self.draw.uniform(*DOMAIN) for name in ATTRIBUTES}
            if skewed:
                values = {name: value**3 / 10_000 for name, value in values.items()}
            publisher = self.draw.choice(self.up)
            for peer in self.up:
                wants = any(
                    all(low <= values[name] <= high for name, (low, high) in interest.ranges.items())
                    for interest in self.interests.get(peer, ())
                )
                if wants and peer != publisher:
                    expected.add((number, peer))
            protocol: PubSub = self.server(publisher)
            protocol.publish(Event(number, publisher, attributes=values))
            self.context = None
            self.run_for(every)
        return expected

    def crash(self, peers: list[int]) -> None:
        """Take servers away without a word."""
        for peer in peers:
            life = self._lives[peer]
            assert life is not None
            life.alive = False
            self._lives[peer] = None
            self._tracker.remove(peer)

    def come_back(self, peer: int) -> None:
        """Have a server that has crashed join again, with what it asked for."""
        self._actor.join(peer, Join(1), self.contacts(peer))
        for interest in self.interests.get(peer, ()):
            self.server(peer).subscribe(interest)
        self.context = None


def content_world(
    system: str,
    path: Path,
    servers: int = 30,
    network: dict[str, Any] | None = None,
    seed: int = 1,
    **parameters: Any,
) -> ContentWorld:
    """Return a world of servers whose operators have laid out what the system asks for."""
    spec = TrialSpec.model_validate(
        {
            "system": {"name": system, "parameters": {"attributes": ATTRIBUTES} | parameters},
            "peers": servers,
            "network": {"latency": {"kind": "king", "hosts": 2 * servers}, "unreachable_after": "2 s"}
            | (network or {}),
            "workload": {
                "subscriptions": {"kind": "boxes", "attributes": ATTRIBUTES, "per_peer": 0.01},
                "publications": {"events": 0, "publisher": "any"},
            },
            "phases": {"join": "3 s", "settle": "1 s", "measure": "1000 s", "drain": "0 s"},
            "seed": seed,
        }
    )
    plan = draw_plan(spec)
    return ContentWorld(lay_out(spec, plan), plan, path)
