"""Filter-based routing at one server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from emulator.contract.protocol import Environment, Event, Interest, PubSub
from emulator.contract.recent import Recent
from emulator.protocols.pubsub.content.order import candidates
from emulator.protocols.pubsub.content.space import Box, EventSpace
from emulator.protocols.pubsub.content.system import content_system
from emulator.protocols.pubsub.content.table_invariant import TABLES
from emulator.protocols.pubsub.content.trees import FilterTree, FilterTrees
from emulator.protocols.pubsub.siena.parameters import SienaParameters
from trellis.v1.filters import FilterUpdate, PlacedEvent

_TREE: Final = (0, 0)
_HOPE: Final = 12.0
"""The seconds after its start for which a server waits for its parent to start too."""
_SUBSCRIBERS: Final = 0
"""The number under which the interests of this server's clients are kept."""


class Siena(PubSub):
    """One server, which acts for its clients."""

    def __init__(self, environment: Environment, parameters: SienaParameters) -> None:
        super().__init__(environment)
        self.space = EventSpace.of(parameters.attributes)
        self._parameters = parameters
        self.trees = FilterTrees(
            environment, self.space, parameters.beat, parameters.patience, self._on_event
        )
        self.tree = self.trees.join(_TREE, self.space.whole)
        self._wanted: dict[Box, int] = {}
        """The number of interests that have each box."""
        self._seen = Recent(environment, parameters.memory)
        environment.serve(FilterUpdate, self.trees.on_update)

    def start(self, contacts: Sequence[int]) -> None:
        """Attach to the tree. Raises ValueError if none was laid out for this server."""
        parents = self._parameters.parents
        if parents is None or self.environment.peer >= len(parents):
            raise ValueError(f"no tree was laid out for server {self.environment.peer}")
        self.tree.links.aim(candidates(dict(enumerate(parents)), self.environment.peer), _HOPE)

    def stop(self, graceful: bool) -> None:
        self.trees.stop(graceful)

    def subscribe(self, interest: Interest) -> None:
        box = self.space.box(interest)
        self._wanted[box] = self._wanted.get(box, 0) + 1
        self.tree.routes.add_own(_SUBSCRIBERS, box)

    def unsubscribe(self, interest: Interest) -> None:
        box = self.space.box(interest)
        left = self._wanted.pop(box, 0) - 1
        if left > 0:
            self._wanted[box] = left
        elif left == 0:
            self.tree.routes.remove_own(_SUBSCRIBERS, box)

    def publish(self, event: Event) -> None:
        self._route(self.tree, self.space.place(event), 0, None)

    def on_unreachable(self, peer: int) -> None:
        self.trees.lose(peer)

    def gauges(self) -> dict[str, float]:
        routes = self.tree.routes
        return {
            "table_entries": float(len(routes.table)),
            "table_searches": float(self.trees.searches),
            "table_comparisons": float(self.trees.compared),
            "tree_settled": float(self.tree.settled),
        }

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return self.trees.parents()

    def _on_event(self, tree: FilterTree, event: PlacedEvent, hops: int, sender: int) -> None:
        if event.event not in self._seen:
            self._route(tree, event, hops, sender)

    def _route(self, tree: FilterTree, event: PlacedEvent, hops: int, sender: int | None) -> None:
        self._seen.add(event.event)
        neighbours, wanted = self.trees.search(tree, event.values, sender)
        self.trees.forward(tree, event, hops, neighbours)
        if wanted:
            self.environment.deliver(self.space.event(event, hops))


SIENA: Final = content_system(
    "siena",
    "Filter-based routing on one tree of servers, with covering",
    "A. Carzaniga, D. Rosenblum, A. Wolf: Design and evaluation of a wide-area event notification "
    "service, ACM TOCS 19(3), 2001",
    SienaParameters,
    Siena,
    "emulator.layouts.trees:lay_out_siena",
    "emulator.layouts.trees:misfits",
    (TABLES,),
)
