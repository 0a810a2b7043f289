"""Outcomes of operations: what a protocol hands to the application at a peer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Event:
    """A publication, as it is handed over at the publisher and at each subscriber.

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
    """A lookup, as it is handed over at the peer at which it ended.

    `hops` is the number of overlay hops that it travelled (0 if the origin is the closest itself).
    """

    number: int
    origin: int
    key: int
    hops: int


@dataclass(frozen=True)
class Installation:
    """A subscription that is in force, handed over at the peer that stores it while the subscription is
    handled.

    `hops` is the number of successive messages from the subscriber to this peer.
    """

    subscriber: int
    hops: int


@dataclass(frozen=True)
class Completion:
    """The result of an operation of a package's kind of workload, handed over at the peer where it was
    reached.

    An operation may have one result, several (one at each peer that a block reaches) or none.
    """

    operation: str
    """The operation's name, as `Operation.NAME` has it."""
    number: int
    """The operation's number in the plan."""
    hops: int = 0
    """The number of successive messages from the peer that was asked to this one."""
    value: float | None = None
    """A number that the kind of workload interprets, such as the value that was agreed on."""


Outcome = Event | Lookup | Installation | Completion
"""The end of an operation: the result that it was asked for."""
