"""Multicast groups at one server: an event goes to all members of the one group of its cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from emulator.contract.protocol import Environment, Event, Interest, PubSub
from emulator.protocols.pubsub.content.interests import Interests
from emulator.protocols.pubsub.content.space import NO_EVENT, EventSpace, Values
from emulator.protocols.pubsub.content.system import content_system
from emulator.protocols.pubsub.groups.parameters import GroupParameters
from trellis.v1.filters import PlacedEvent
from trellis.v1.groups import GroupEvent


class Groups(PubSub):
    """One server. Groups and trees stay as they were laid out, whatever its clients ask for later."""

    def __init__(self, environment: Environment, parameters: GroupParameters) -> None:
        super().__init__(environment)
        self.space = EventSpace.of(parameters.attributes)
        self._parameters = parameters
        self._links: list[list[int]] = []
        """The neighbours on the tree of each group."""
        self._interests = Interests(self.space)
        self._searches = 0
        """The number of searches: events whose group was looked up, or that were matched with the clients'
        interests."""
        environment.handle(GroupEvent, self._on_event)

    def start(self, contacts: Sequence[int]) -> None:
        """Start the server. Raises ValueError if no groups were laid out."""
        layout, me = self._parameters.layout, self.environment.peer
        if layout is None:
            raise ValueError("no multicast groups were laid out")
        for parents in layout.parents:
            links = [child for child, parent in parents.items() if parent == me]
            if parents.get(me, -1) >= 0:
                links.append(parents[me])
            self._links.append(links)

    def stop(self, graceful: bool) -> None:
        """Stop without telling anybody: the groups are static, so others go on sending here."""

    def subscribe(self, interest: Interest) -> None:
        self._interests.add(self.space.box(interest))

    def unsubscribe(self, interest: Interest) -> None:
        self._interests.remove(self.space.box(interest))

    def publish(self, event: Event) -> None:
        layout, me = self._parameters.layout, self.environment.peer
        assert layout is not None
        placed = self.space.place(event)
        self._searches += 1
        group = layout.group_of_cell[cell_of(self.space, self._parameters.cells_each, placed.values)]
        if group < 0:
            return
        entry = layout.entries[group][me]
        if entry == me:
            self._forward(group, placed, 0, -1)
        else:
            self.environment.send(entry, GroupEvent(placed, group, 1))

    def gauges(self) -> dict[str, float]:
        layout = self._parameters.layout
        return {
            "table_entries": float(len(layout.parents) if layout is not None else 0),
            "table_searches": float(self._searches),
            "table_comparisons": float(self._interests.compared),
            "groups_joined": float(sum(1 for links in self._links if links)),
        }

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"group": sorted({peer for links in self._links for peer in links})}

    def _on_event(self, sender: int, message: GroupEvent) -> None:
        event = message.event
        if event is None or not self.space.holds(event):
            self.environment.drop(GroupEvent, NO_EVENT)
            return
        self._forward(message.group, event, message.hops, sender)
        self._searches += 1
        if self._interests.want(event.values):
            self.environment.deliver(self.space.event(event, message.hops))

    def _forward(self, group: int, event: PlacedEvent, hops: int, sender: int) -> None:
        for neighbour in self._links[group]:
            if neighbour != sender:
                self.environment.send(neighbour, GroupEvent(event, group, hops + 1))


def cell_of(space: EventSpace, each: int, values: Values) -> int:
    """Return the number of the cell that an event is in, with `each` cells of every attribute."""
    cell = 0
    for value, low, high in zip(values, space.lows, space.highs, strict=True):
        cell = cell * each + part_of(value, low, high, each)
    return cell


def part_of(value: float, low: float, high: float, each: int) -> int:
    """Return which of `each` equal parts of a domain has a value; outside it is the first or last."""
    return 0 if value <= low else min(int((value - low) * each / (high - low)), each - 1)


GROUPS: Final = content_system(
    "groups",
    "Multicast groups by Forgy k-means over event cells",
    "A. Riabov, Z. Liu, J. Wolf, P. Yu, L. Zhang: Clustering algorithms for content-based "
    "publication-subscription systems, ICDCS 2002",
    GroupParameters,
    Groups,
    "emulator.layouts.groups:lay_out_groups",
)
