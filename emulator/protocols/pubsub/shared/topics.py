"""The interests that a system by topic accepts."""

from __future__ import annotations

from emulator.contract.protocol import Interest, TopicInterest


def topic_interest(interest: Interest) -> TopicInterest:
    """Return the interest as a topic interest. Raises TypeError if it is another kind."""
    if not isinstance(interest, TopicInterest):
        raise TypeError(f"this system knows interests in topics, not {type(interest).__name__}")
    return interest
