"""An event as messages carry it, and laid out as a peer matches it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from emulator.contract.protocol import Event
from emulator.protocols.pubsub.li.node import Entry
from emulator.protocols.pubsub.li.space import Schema, TargetArea
from trellis.v1.content import EventContent

_REMEMBERED: Final = 256
"""The number of events whose laid-out contents are kept."""


class Content:
    """An event laid out: its values, its target area for each attribute, and the subscriptions it matches."""

    __slots__ = (
        "_absent_matches",
        "_clipped",
        "_values",
        "attributes",
        "cut_off",
        "message",
        "schema",
        "targets",
    )

    def __init__(self, message: EventContent, schema: Schema, cut_off: float, absent_matches: bool) -> None:
        self.message = message
        self.schema = schema
        self.cut_off = cut_off
        given = dict(zip(message.attributes, message.values, strict=True))
        self.attributes = {schema.attributes[index].name: value for index, value in given.items()}
        self._absent_matches = absent_matches
        self._values = [given.get(index) for index in range(len(schema.attributes))]
        self._clipped = [
            None if value is None else attribute.clip(value)
            for attribute, value in zip(schema.attributes, self._values, strict=True)
        ]
        self.targets: list[TargetArea | None] = []
        """The target area for each attribute, None for an absent attribute that matches nothing."""
        for attribute, value in zip(schema.attributes, self._clipped, strict=True):
            cut = (cut_off or 1.0) * attribute.width
            if value is not None:
                self.targets.append(TargetArea(attribute, value, value, cut))
            elif absent_matches:
                self.targets.append(TargetArea(attribute, attribute.high, attribute.low, cut))
            else:
                self.targets.append(None)

    def matching(self, attribute: int, entries: Iterable[Entry]) -> list[Entry]:
        """Choose the subscriptions in the tree of `attribute` that are to get this event.

        Values are clipped to the domain like the points they are compared with; the subscriber compares
        again, unclipped.
        """
        point = self._clipped[attribute]
        values = self._values
        found = []
        for entry in entries:
            if point is not None and not entry.low <= point <= entry.high:
                continue
            for index, low, high in entry.others:
                value = values[index]
                if not self._absent_matches if value is None else not low <= value <= high:
                    break
            else:
                if not entry.message.withdrawn:
                    found.append(entry)
        return found

    def event(self, hops: int) -> Event:
        """Return the event as the application gets it."""
        message = self.message
        return Event(message.event, message.publisher, None, self.attributes, message.payload, hops)


def encode(event: Event, schema: Schema) -> EventContent:
    """Raises ValueError if the event has an attribute that is not in the schema."""
    return EventContent(
        event=event.number,
        publisher=event.publisher,
        attributes=[schema.index(name) for name in event.attributes],
        values=list(event.attributes.values()),
        payload=event.payload,
    )


def is_sound(message: EventContent, schema: Schema) -> bool:
    """Return whether a content has a value for each of its attributes, and all are in the schema."""
    attributes = message.attributes
    return len(attributes) == len(message.values) and max(attributes, default=0) < len(schema.attributes)


_laid_out: Final[dict[int, Content]] = {}
"""The laid-out contents by the identity of their message, which each content keeps."""


def lay_out(message: EventContent, schema: Schema, cut_off: float, absent_matches: bool) -> Content:
    """Return the content of a message, one object for each message, as peers pass it by reference."""
    content = _laid_out.get(id(message))
    if content is None or content.schema is not schema or content.cut_off != cut_off:
        if len(_laid_out) >= _REMEMBERED:
            _laid_out.clear()
        content = _laid_out[id(message)] = Content(message, schema, cut_off, absent_matches)
    return content
