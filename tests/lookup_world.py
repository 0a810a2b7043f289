"""Peers with lookups over a structured overlay in lockstep, and an application of one overlay."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from fake_environment import FakeEnvironment, Lockstep

from emulator.contract.protocol import Contact, LookupService

STEP = 0.5
"""The seconds of a step, after which all messages are handed over."""


class LookupWorld:
    """Peers of one overlay. The bootstrap service knows all peers that are up."""

    def __init__(
        self, identifiers: Sequence[int], make: Callable[[FakeEnvironment], LookupService], started: int
    ) -> None:
        """Peer n has the n-th identifier and is made by `make`; the first `started` peers start."""
        self.identifiers = dict(enumerate(identifiers))
        self.draw = random.Random(len(identifiers))
        self.world = Lockstep(make, range(len(identifiers)))
        self.up: list[int] = []
        self.join(range(started))

    def join(self, peers: Iterable[int]) -> None:
        """Start these peers one after the other, each through three of those that are up."""
        for peer in peers:
            known = self.draw.sample(self.up, min(3, len(self.up)))
            self.world.protocols[peer].start(known)
            self.up.append(peer)
            self.world.exchange()

    def crash(self, peers: Iterable[int]) -> None:
        gone = [*peers]
        self.world.crash(gone)
        for peer in gone:
            self.up.remove(peer)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP)):
            self.world.round(STEP)
            for peer in self.up:
                asked = self.world.environments[peer].asked_for_contacts
                others = [other for other in self.up if other != peer]
                while asked:
                    asked.pop()(self.draw.sample(others, min(3, len(others))))
            self.world.exchange()

    def look_up(self, peer: int, key: int, number: int = 0) -> list[tuple[int, int]]:
        """Look a key up. Returns (peer, hops) of each delivery within a few seconds."""
        for environment in self.world.environments.values():
            environment.delivered.clear()
        cast("LookupService", self.world.protocols[peer]).lookup(number, key)
        self.run(8 * STEP)
        return [
            (other, lookup.hops)
            for other, environment in self.world.environments.items()
            for lookup in environment.delivered
        ]


class Passes:
    """An application that lets everything go on."""

    def __init__(self) -> None:
        self.delivered: list[tuple[int, int]] = []
        """The key and the hops of each message that was delivered."""

    def forward(self, key: int, message: object, next_hop: int, hops: int) -> bool:
        return True

    def deliver(self, key: int, message: object, origin: Contact, hops: int) -> None:
        self.delivered.append((key, hops))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        pass
