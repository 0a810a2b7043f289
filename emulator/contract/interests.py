"""The interests that a peer may subscribe to: a topic, or events by their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TopicInterest:
    """A subscription to one topic.

    `rate` is the topic's advertised publication rate (events/s); Vitis weighs its utility by it
    (equation 1). Equal rates may be given as any equal numbers.
    """

    topic: int
    rate: float = 1.0


@dataclass(frozen=True)
class RangeInterest:
    """A conjunction over numeric attributes, each of which has a closed range or a set of values by its name.

    An event matches if it has all these attributes, each with a value in the range or in the set.
    """

    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The lowest and the highest value of each attribute, by its name."""
    sets: Mapping[str, frozenset[float]] = field(default_factory=dict)


Interest = TopicInterest | RangeInterest
