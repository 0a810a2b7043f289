"""An event as messages carry it, and as a peer looks at it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from trellis.v1.content_pb2 import EventContent

from emulator.protocol import Event
from emulator.pubsub.li.node import Stored
from emulator.pubsub.li.space import Schema, TargetArea


class Content:
    """What an event says, its target area in each attribute's space, and which subscriptions it matches."""

    __slots__ = (
        "_absent_matches",
        "_clipped",
        "_values",
        "attributes",
        "number",
        "payload",
        "publisher",
        "targets",
    )

    def __init__(self, message: EventContent, schema: Schema, cut_off: float, absent_matches: bool) -> None:
        self.number = message.event
        self.publisher = message.publisher
        self.payload = message.payload
        given = dict(zip(message.attributes, message.values, strict=True))
        self.attributes = {schema.attributes[index].name: value for index, value in given.items()}
        self._absent_matches = absent_matches
        self._values = [given.get(index) for index in range(len(schema.attributes))]
        self._clipped = [
            None if value is None else attribute.clip(value)
            for attribute, value in zip(schema.attributes, self._values, strict=True)
        ]
        self.targets: list[TargetArea | None] = []
        """None for an absent attribute that matches nothing."""
        for attribute, value in zip(schema.attributes, self._clipped, strict=True):
            cut = (cut_off or 1.0) * attribute.width
            if value is not None:
                self.targets.append(TargetArea(attribute, value, value, cut))
            elif self._absent_matches:
                self.targets.append(TargetArea(attribute, attribute.high, attribute.low, cut))
            else:
                self.targets.append(None)

    def matching(self, attribute: int, subscriptions: Iterable[Stored]) -> list[Stored]:
        """Those in the tree of `attribute` that are to get this event.

        Points lie in the domain, and so does the value that they are compared with; the subscriber
        compares again.
        """
        point = self._clipped[attribute]
        values = self._values
        found = []
        for stored in subscriptions:
            if point is not None and not stored.low <= point <= stored.high:
                continue
            for index, low, high in stored.others:
                value = values[index]
                if not self._absent_matches if value is None else not low <= value <= high:
                    break
            else:
                found.append(stored)
        return found

    def event(self, hops: int) -> Event:
        """As the application gets it."""
        return Event(self.number, self.publisher, None, self.attributes, self.payload, hops)


def encode(event: Event, schema: Schema) -> bytes:
    """Raises ValueError if the event has an attribute that is not in the schema."""
    message = EventContent(
        event=event.number,
        publisher=event.publisher,
        attributes=[schema.index(name) for name in event.attributes],
        values=list(event.attributes.values()),
        payload=event.payload,
    )
    return message.SerializeToString()


@lru_cache(maxsize=1024)
def decode(encoded: bytes, schema: Schema, cut_off: float, absent_matches: bool) -> Content:
    """The same object for the same event: all messages of an event carry the same bytes."""
    return Content(EventContent.FromString(encoded), schema, cut_off, absent_matches)
