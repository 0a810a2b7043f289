"""Operations in workloads of topics and of content: subscriptions and publications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from emulator.contract.protocol import Event, Interest, PubSub, RangeInterest, TopicInterest
from emulator.contract.workload import Asked, Held, Holding, Operation, Row


@dataclass(frozen=True, slots=True)
class Publish(Operation):
    """The operation in which a peer publishes an event."""

    NAME: ClassVar[str] = "publish"

    of: Event

    @property
    def number(self) -> int:  # type: ignore[override]
        """The event's number."""
        return self.of.number

    def about(self) -> tuple[int | None, int]:
        """Return the event's topic, if it has one, and its number."""
        return self.of.topic, self.of.number

    def attributes(self) -> Mapping[str, int | bool]:
        """Return the event's number."""
        return {"event": self.of.number}

    def perform(self, protocol: PubSub) -> None:
        """Publish the event."""
        protocol.publish(self.of)

    def encode(self) -> Any:
        """Return the event's values; of its payload only the length matters."""
        event = self.of
        return [event.number, event.publisher, event.topic, dict(event.attributes), len(event.payload)]

    @classmethod
    def decode(cls, values: Any) -> Publish:
        """Return the publication of the event."""
        number, publisher, topic, attributes, payload_bytes = values
        return cls(Event(number, publisher, topic, attributes, bytes(payload_bytes)))


@dataclass(frozen=True, slots=True)
class Subscription(Holding):
    """The subscription of a peer to a topic, or to ranges and sets of values."""

    TAKEN: ClassVar[str] = "subscribe"
    GIVEN_UP: ClassVar[str] = "unsubscribe"

    number: int
    interest: Interest

    def about(self) -> int | None:
        """Return the topic, if it is a subscription to one."""
        return self.interest.topic if isinstance(self.interest, TopicInterest) else None

    def attributes(self) -> Mapping[str, int | bool]:
        """Return the subscription's number."""
        return {"interest": self.number}

    def take_up(self, protocol: PubSub) -> None:
        """Subscribe to the interest."""
        protocol.subscribe(self.interest)

    def give_up(self, protocol: PubSub) -> None:
        """Unsubscribe from the interest."""
        protocol.unsubscribe(self.interest)

    def encode(self) -> Any:
        """Return the number with topic and rate, or with ranges and sets."""
        match self.interest:
            case TopicInterest(topic, rate):
                return [self.number, topic, rate]
            case RangeInterest(ranges, sets):
                listed = {name: sorted(values) for name, values in sets.items()}
                return [self.number, {name: list(bounds) for name, bounds in ranges.items()}, listed]

    @classmethod
    def decode(cls, values: Any) -> Subscription:
        """Return the subscription that these values stand for."""
        number, first, second = values
        if isinstance(first, int):
            return cls(number, TopicInterest(first, second))
        ranges = {name: (low, high) for name, (low, high) in first.items()}
        return cls(number, RangeInterest(ranges, {name: frozenset(found) for name, found in second.items()}))


def publications(rows: Sequence[Row]) -> Iterator[Asked]:
    """Yield the publications of the plan."""
    for row in rows:
        yield Asked(row["at_s"], row["publisher"], Publish(_event(row)))


def subscriptions(rows: Sequence[Row]) -> Iterator[Held]:
    """Yield the interests of peers. A server asks once for equal interests of its clients, while
    any has it.

    Subscriptions share equal values, which are most of the memory of a large trial's script otherwise.
    """
    of_clients: dict[tuple[int, str], list[Held]] = {}
    peers: dict[int, int] = {}
    times: dict[float, float] = {}
    topics: dict[TopicInterest, TopicInterest] = {}
    for row in rows:
        interest = _interest(row)
        if isinstance(interest, TopicInterest):
            interest = topics.setdefault(interest, interest)
        peer, start, end = row["peer"], row["start_s"], row["end_s"]
        held = Held(
            peers.setdefault(peer, peer),
            times.setdefault(start, start),
            times.setdefault(end, end),
            Subscription(row["interest"], interest),
        )
        if row["client"] is None:
            yield held
        else:
            of_clients.setdefault((held.peer, repr(interest)), []).append(held)
    for equal in of_clients.values():
        equal.sort(key=lambda held: (held.start, held.what.number))
        first = equal[0]
        for held in equal[1:]:
            if held.start > first.end:
                yield first
                first = held
            elif held.end > first.end:
                first = first._replace(end=held.end)
        yield first


def _interest(row: Row) -> Interest:
    if row["ranges"] is None:
        return TopicInterest(row["topic"], row["rate"])
    ranges, sets = {}, {}
    for part in row["ranges"]:
        if part["values"] is None:
            ranges[part["attribute"]] = part["low"], part["high"]
        else:
            sets[part["attribute"]] = frozenset(part["values"])
    return RangeInterest(ranges, sets)


def _event(row: Row) -> Event:
    attributes = {part["attribute"]: part["value"] for part in row["attributes"] or ()}
    return Event(row["event"], row["publisher"], row["topic"], attributes, bytes(row["payload_bytes"]))
