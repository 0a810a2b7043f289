"""What operations end in: what a protocol hands to the application at a peer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Event:
    """A publication, at the publisher and at each subscriber.

    `hops` is the number of overlay hops that this copy travelled (0 at the publisher).
    """

    number: int
    publisher: int
    topic: int | None = None
    attributes: Mapping[str, float] = field(default_factory=dict)
    payload: bytes = b""
    hops: int = 0


@dataclass(frozen=True)
class Lookup:
    """A lookup, at the peer that it ended at.

    `hops` is the number of overlay hops that it travelled (0 if the origin is the closest itself).
    """

    number: int
    origin: int
    key: int
    hops: int


@dataclass(frozen=True)
class Installation:
    """A subscription that is in force, told at the peer that stores it while the subscription is handled.

    `hops` is the number of messages one after the other from the subscriber to here.
    """

    subscriber: int
    hops: int


@dataclass(frozen=True)
class Completion:
    """What an operation of a package's kind of workload was for, at the peer at which it came about.

    An operation may have one, several (one at each peer that a block reaches) or none.
    """

    operation: str
    """The operation's name, as `Operation.NAME` has it."""
    number: int
    """The operation's number in the plan."""
    hops: int = 0
    """Messages one after the other from the peer that was asked to here."""
    value: float | None = None
    """A number that the kind of workload makes something of, such as what was agreed on."""


Outcome = Event | Lookup | Installation | Completion
"""The end of an operation: what it was for."""
