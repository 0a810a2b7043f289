"""Quasar over graphs that a test names link by link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fake_environment import FakeEnvironment, Lockstep
from pydantic import BaseModel, ConfigDict

from emulator.contract.protocol import Environment, Membership, TopicInterest
from emulator.protocols.pubsub.quasar.parameters import parameters_over
from emulator.protocols.pubsub.quasar.system import Quasar
from trellis.v1.overlay import Contact

Graph = Mapping[int, Sequence[int]]
"""The neighbours that the overlay of each peer tells, in their order."""


class NoParameters(BaseModel):
    """A graph that is given has none."""

    model_config = ConfigDict(extra="forbid")


PARAMETERS = parameters_over(NoParameters)


class GivenGraph(Membership):
    """Neighbours that never change unless the test changes them."""

    def __init__(self, environment: Environment, neighbours: Sequence[int]) -> None:
        super().__init__(environment)
        self.links = list(neighbours)

    def start(self, contacts: Sequence[int]) -> None:
        pass

    def stop(self, graceful: bool) -> None:
        pass

    def sample(self, count: int) -> Sequence[int]:
        return self.links[:count]

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"given": self.links}

    def add(self, peer: int) -> None:
        self.links.append(peer)
        self.tell_change(Contact(peer), True)

    def remove(self, peer: int) -> None:
        self.links.remove(peer)
        self.tell_change(Contact(peer), False)


class QuasarWorld:
    """Peers of one graph, in lockstep."""

    def __init__(self, graph: Graph, topics: Mapping[int, Sequence[int]], **parameters: Any) -> None:
        given = PARAMETERS.model_validate(parameters)
        self.graphs: dict[int, GivenGraph] = {}

        def make(environment: FakeEnvironment) -> Quasar:
            def below(part: Environment) -> GivenGraph:
                made = self.graphs[part.peer] = GivenGraph(part, graph[part.peer])
                return made

            return Quasar(environment, given, below)

        self.lockstep = Lockstep(make, graph)
        self.quasars: dict[int, Quasar] = self.lockstep.protocols  # type: ignore[assignment]
        for peer, subscribed in topics.items():
            for topic in subscribed:
                self.quasars[peer].subscribe(TopicInterest(topic))
        for quasar in self.quasars.values():
            quasar.start([])

    def rounds(self, count: int) -> None:
        """Let so many periods pass, in each of which everybody tells its filter once."""
        for _ in range(count):
            self.lockstep.round(10.0)

    def levels(self, peer: int) -> list[bytes]:
        """Return the peer's own attenuated filter as it was last told."""
        return self.quasars[peer]._gradients.own.levels

    def environment(self, peer: int) -> FakeEnvironment:
        return self.lockstep.environments[peer]

    def delivered(self) -> dict[int, int]:
        """Return the hops of the delivery at each peer that had one."""
        return {
            peer: environment.delivered[0].hops
            for peer, environment in self.lockstep.environments.items()
            if environment.delivered
        }
