"""Which messages carry an event. The others tell of it, ask for it, or look for those who want it."""

from __future__ import annotations

CARRIERS = frozenset({"EventData", "EventDelivery", "Multicast"})
"""Names of messages, of all systems. What a peer gets in one of them is a copy of the event."""
TOPIC_CARRIERS = CARRIERS | {"Routed"}
"""The same for an event on a topic: what it has routed is itself, not a search for its subscribers."""
