"""Profiles: what a peer tells of itself, and how alike the interests of two peers are."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from emulator.compact.bit_sets import bits
from trellis.v1.overlay import Profile

_SINGLE: Final = struct.Struct("<f")


def make_profile(
    peer: int, session: int, version: int, identifier: int, rates: Mapping[int, float]
) -> Profile:
    """Return the profile of a peer that subscribes to the topics in `rates` (events/s)."""
    topics = 0
    weights: list[float] = []
    for topic in sorted(rates):
        topics |= 1 << topic
        weights.append(_as_told(rates[topic]))
    if len(set(weights)) == 1:
        return Profile(peer, session, version, identifier, topics, rate=weights[0])
    return Profile(peer, session, version, identifier, topics, rates=weights)


def newer(one: Profile, other: Profile) -> bool:
    """Return whether `one` replaces `other`, both of the same peer."""
    if one.session != other.session:
        return one.session > other.session
    return one.version > other.version


def utility(one: Profile, other: Profile) -> float:
    """Return how alike two peers' interests are, 0 to 1, weighted by rates (Vitis, equation 1).

    A profile whose rates do not fit its topics is like no other.
    """
    shared = one.topics & other.topics
    if shared == 0:
        return 0.0
    if not one.rates and not other.rates and one.rate == other.rate:
        count = shared.bit_count()
        return count / (one.topics_count() + other.topics_count() - count)
    if not (fits(one) and fits(other)):
        return 0.0
    rates = rates_of(one)
    rate = 0.0
    for topic in bits(shared):
        rate += rates[topic]
    union = total_rate(one) + total_rate(other) - rate
    return rate / union if union > 0 else 0.0


def fits(profile: Profile) -> bool:
    """Return whether a profile has a rate for each of its topics, or one for all."""
    return not profile.rates or len(profile.rates) == profile.topics_count()


def rates_of(profile: Profile) -> dict[int, float]:
    """Return the rate of each of the peer's topics, in events/s.

    Raises ValueError for a profile that does not fit.
    """
    topics = bits(profile.topics)
    if profile.rates:
        return dict(zip(topics, profile.rates, strict=True))
    return dict.fromkeys(topics, profile.rate)


def total_rate(profile: Profile) -> float:
    """Return the rate of all of the peer's topics together, in events/s."""
    return sum(profile.rates) if profile.rates else profile.rate * profile.topics_count()


def _as_told(rate: float) -> float:
    """Return the rate in the precision of a message, with which others weigh the peer's topics."""
    told: float = _SINGLE.unpack(_SINGLE.pack(rate))[0]
    return told
