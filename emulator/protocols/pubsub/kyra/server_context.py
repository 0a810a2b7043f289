"""The context that all epochs at one server share."""

from __future__ import annotations

from typing import Final

from emulator.contract.protocol import Environment
from emulator.contract.recent import Recent
from emulator.protocols.overlays.cliques.measuring import Measuring
from emulator.protocols.pubsub.content.interests import Interests
from emulator.protocols.pubsub.content.space import EventSpace
from emulator.protocols.pubsub.content.trees import FilterTrees

_DOWN: Final = 20.0
"""A server that was unreachable is not taken for a root for this many seconds."""


class ServerContext:
    """One server: its environment, its clients, and the trees that it is on."""

    def __init__(
        self,
        environment: Environment,
        space: EventSpace,
        trees: FilterTrees,
        measuring: Measuring,
        patience: float,
    ) -> None:
        """A request without an answer has failed after `patience` seconds."""
        self.environment = environment
        self.peer = environment.peer
        self.space = space
        self.trees = trees
        self.measuring = measuring
        self.patience = patience
        self.interests = Interests(space)
        self.down = Recent(environment, _DOWN)
        """The servers that are known to be down, or not to be on a tree, as (epoch, tree, peer)."""
