"""Filter-based routing on trees: the part of a server that all of its trees share.

A tree is named by (epoch, tree). Siena has one tree; Kyra has several, drawn anew in each epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from emulator.contract.protocol import Environment
from emulator.protocols.pubsub.content.links import TreeLinks
from emulator.protocols.pubsub.content.routes import FilterRoutes
from emulator.protocols.pubsub.content.space import NO_BOX, NO_EVENT, Box, EventSpace, Values
from emulator.protocols.pubsub.content.streams import BoxStream, Inflow
from trellis.v1.filters import (
    FilterAnswer,
    FilterUpdate,
    PlacedEvent,
    TreeAnswer,
    TreeAttachment,
    TreeBeat,
    TreeDetachment,
    TreeEvent,
)

_GATHERING: Final = 0.1
"""The seconds for which a change waits for others before a neighbour is told."""
Table = tuple[int, int]


class Streams:
    """Makes the streams of one server, with numbers that grow with each session of the peer."""

    def __init__(self, environment: Environment, patience: float) -> None:
        self._environment = environment
        self._patience = patience
        self._last = environment.session << 24

    def to(self, peer: int, table: Table, refused: Callable[[], None]) -> BoxStream:
        """Return a new stream, which replaces earlier ones to the same table."""
        self._last += 1
        return BoxStream(self._environment, peer, table, self._last, refused, _GATHERING, self._patience)


class FilterTree:
    """One tree at one server."""

    def __init__(
        self,
        environment: Environment,
        table: Table,
        region: Box,
        space: EventSpace,
        streams: Streams,
        beat: float,
        patience: float,
    ) -> None:
        self.table = table
        self.routes = FilterRoutes(region, space.lows, space.highs, self._tell)
        self._outflow: dict[int, BoxStream] = {}
        self._inflow: dict[int, Inflow] = {}
        self._streams = streams
        self.links = TreeLinks(environment, table, self._opened, self._closed, beat, patience)

    def on_update(self, sender: int, update: FilterUpdate) -> FilterAnswer:
        """Answer a neighbour that tells what it wants."""
        inflow = self._inflow.get(sender)
        if inflow is None:
            return FilterAnswer(False)
        routes = self.routes
        known = inflow.take(
            update, partial(routes.clear, sender), partial(routes.add, sender), partial(routes.remove, sender)
        )
        return FilterAnswer(known)

    def stop(self, graceful: bool) -> None:
        """Leave the tree."""
        self.links.stop(graceful)
        for stream in self._outflow.values():
            stream.end()

    @property
    def settled(self) -> bool:
        """Whether all neighbours know what this server wants of them."""
        return self.links.attached and all(stream.settled for stream in self._outflow.values())

    @property
    def informed(self) -> bool:
        """Whether this server knows what all its neighbours want."""
        return self.links.attached and all(inflow.heard for inflow in self._inflow.values())

    def _opened(self, neighbour: int) -> None:
        if neighbour in self._outflow:
            self._outflow[neighbour].end()
        self._outflow[neighbour] = self._streams.to(neighbour, self.table, partial(self._refused, neighbour))
        self._inflow.setdefault(neighbour, Inflow())
        self.routes.open(neighbour)
        self._outflow[neighbour].begin()

    def _closed(self, neighbour: int) -> None:
        self.routes.close(neighbour)
        self._inflow.pop(neighbour, None)
        stream = self._outflow.pop(neighbour, None)
        if stream is not None:
            stream.end()

    def _refused(self, neighbour: int) -> None:
        self.links.lose(neighbour)

    def _tell(self, neighbour: int, box: Box, there: bool) -> None:
        stream = self._outflow.get(neighbour)
        if stream is not None:
            stream.change(box, there)


class FilterTrees:
    """The trees that one server is on."""

    def __init__(
        self,
        environment: Environment,
        space: EventSpace,
        beat: float,
        patience: float,
        arrived: Callable[[FilterTree, PlacedEvent, int, int], None],
    ) -> None:
        """`arrived(tree, event, hops, sender)` is called for each event that comes over a tree."""
        self._environment = environment
        self._space = space
        self._beat = beat
        self._patience = patience
        self._arrived = arrived
        self.streams = Streams(environment, patience)
        self.trees: dict[Table, FilterTree] = {}
        self.searches = 0
        """The number of events that were looked up in a table."""
        self._compared = 0
        environment.serve(TreeAttachment, self._on_attachment)
        environment.serve(TreeBeat, self._on_beat)
        environment.handle(TreeDetachment, self._on_detachment)
        environment.handle(TreeEvent, self._on_event)

    def join(self, table: Table, region: Box) -> FilterTree:
        """Join a tree for the events in `region`."""
        tree = self.trees[table] = FilterTree(
            self._environment, table, region, self._space, self.streams, self._beat, self._patience
        )
        return tree

    def leave(self, table: Table) -> None:
        """Leave a tree."""
        tree = self.trees.pop(table)
        tree.stop(graceful=True)
        self._compared += tree.routes.table.compared + tree.routes.own.compared

    def stop(self, graceful: bool) -> None:
        """Leave all trees."""
        for tree in self.trees.values():
            tree.stop(graceful)

    def lose(self, peer: int) -> None:
        """Drop the links to a peer that is gone."""
        for tree in list(self.trees.values()):
            tree.links.lose(peer)

    def search(self, tree: FilterTree, values: Values, sender: int | None) -> tuple[list[int], list[int]]:
        """Match an event: return the neighbours that it goes on to, and the subscribers here."""
        self.searches += 1
        return tree.routes.next_hops(values, sender), tree.routes.own.owners_matching(values)

    def forward(self, tree: FilterTree, event: PlacedEvent, hops: int, neighbours: list[int]) -> None:
        """Send an event that has travelled `hops` on to these neighbours."""
        if neighbours:
            epoch, number = tree.table
            message = TreeEvent(event, epoch, number, hops + 1)
            for neighbour in neighbours:
                self._environment.send(neighbour, message)

    def on_update(self, sender: int, update: FilterUpdate) -> FilterAnswer:
        """Answer a neighbour on a tree that tells what it wants."""
        if not self._space.holds_all([*update.gone, *update.added]):
            self._environment.drop(FilterUpdate, NO_BOX)
            return FilterAnswer(False)
        tree = self.trees.get((update.epoch, update.tree))
        return FilterAnswer(False) if tree is None else tree.on_update(sender, update)

    def parents(self) -> dict[str, list[int]]:
        """Return the links to parents by kind, which is one kind for each tree."""
        found = {}
        for (epoch, number), tree in self.trees.items():
            if tree.links.parent is not None:
                found[f"tree {epoch}.{number}"] = [tree.links.parent]
        return found

    @property
    def compared(self) -> int:
        """The number of subscriptions that events were compared with."""
        trees = self.trees.values()
        return self._compared + sum(t.routes.table.compared + t.routes.own.compared for t in trees)

    def _on_attachment(self, sender: int, message: TreeAttachment) -> TreeAnswer:
        tree = self.trees.get((message.epoch, message.tree))
        return TreeAnswer(False) if tree is None else tree.links.on_attachment(sender)

    def _on_beat(self, sender: int, message: TreeBeat) -> TreeAnswer:
        tree = self.trees.get((message.epoch, message.tree))
        return TreeAnswer(False) if tree is None else tree.links.on_beat(sender)

    def _on_detachment(self, sender: int, message: TreeDetachment) -> None:
        tree = self.trees.get((message.epoch, message.tree))
        if tree is not None:
            tree.links.lose(sender)

    def _on_event(self, sender: int, message: TreeEvent) -> None:
        tree = self.trees.get((message.epoch, message.tree))
        if message.event is None or not self._space.holds(message.event):
            self._environment.drop(TreeEvent, NO_EVENT)
        elif tree is not None:
            self._arrived(tree, message.event, message.hops, sender)
