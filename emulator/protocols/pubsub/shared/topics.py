"""What a system that knows topics takes for an interest."""

from __future__ import annotations

from emulator.contract.protocol import Interest, TopicInterest


def topic_interest(interest: Interest) -> TopicInterest:
    """The interest as one in a topic. Raises TypeError if it is another."""
    if not isinstance(interest, TopicInterest):
        raise TypeError(f"this system knows interests in topics, not {type(interest).__name__}")
    return interest
