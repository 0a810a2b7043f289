"""What gossip knows of a peer: its profile, decoded once, and when it was last heard from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trellis.v1.overlay_pb2 import Profile

from emulator import identifiers

_KEPT_DESCRIPTORS = 1 << 17
_NO_RATES: Mapping[int, float] = {}


class Descriptor:
    """A profile as the protocols use it. Immutable, and small: a host keeps one of every peer it hears of."""

    __slots__ = (
        "_rates",
        "_sum_of_rates",
        "encoded",
        "equal_rate",
        "identifier",
        "peer",
        "topic_count",
        "topic_set",
        "version",
    )

    def __init__(self, profile: Profile, encoded: bytes) -> None:
        self.peer = profile.peer
        self.identifier = identifiers.of_peer(profile.peer)
        self.version = profile.version
        """A newer one replaces an older one."""
        self.topic_set = bit_set(profile.topics)
        """A bit set: bit t is set for topic t."""
        self.topic_count = len(profile.topics)
        self.equal_rate: float | None = None if profile.rates else profile.rate
        """events/s of each topic, if all are equal."""
        self._rates = dict(zip(profile.topics, profile.rates, strict=True)) if profile.rates else _NO_RATES
        self._sum_of_rates = sum(profile.rates)
        self.encoded = encoded
        """The `Profile` message that gossip passes on unread."""

    @classmethod
    def make(cls, peer: int, version: int, rates: Mapping[int, float]) -> Descriptor:
        """The descriptor of a peer that subscribes to the topics in `rates` (events/s)."""
        topics = sorted(rates)
        weights = [rates[topic] for topic in topics]
        profile = Profile(peer=peer, version=version, topics=topics)
        if len(set(weights)) == 1:
            profile.rate = weights[0]
        else:
            profile.rates.extend(weights)
        return decode(profile.SerializeToString())

    @property
    def topics(self) -> list[int]:
        """Ascending."""
        return bits(self.topic_set)

    def position(self, topic: int) -> int:
        """Where one of its topics is in `topics`."""
        return (self.topic_set & ((1 << topic) - 1)).bit_count()

    def rate(self, topic: int) -> float:
        """events/s of one of its topics."""
        return self._rates[topic] if self.equal_rate is None else self.equal_rate

    @property
    def total_rate(self) -> float:
        """events/s of all topics."""
        return self._sum_of_rates if self.equal_rate is None else self.equal_rate * self.topic_count

    def utility(self, other: Descriptor) -> float:
        """How alike two peers' interests are, 0 to 1, weighted by publication rates (Vitis, equation 1)."""
        shared = self.topic_set & other.topic_set
        if not shared:
            return 0.0
        if self.equal_rate is not None and self.equal_rate == other.equal_rate:
            count = shared.bit_count()
            return count / (self.topic_count + other.topic_count - count)
        rate = sum(self.rate(topic) for topic in bits(shared))
        union = self.total_rate + other.total_rate - rate
        return rate / union if union > 0 else 0.0


# A plain dict: the order in which an LRU cache keeps its entries costs more than decoding some again.
_decoded: dict[bytes, Descriptor] = {}


def decode(encoded: bytes) -> Descriptor:
    """The descriptor of an encoded `Profile`. Raises google.protobuf.message.DecodeError."""
    known = _decoded.get(encoded)
    if known is None:
        if len(_decoded) >= _KEPT_DESCRIPTORS:
            _decoded.clear()
        known = _decoded[encoded] = Descriptor(Profile.FromString(encoded), encoded)
    return known


def bit_set(positions: Iterable[int]) -> int:
    """A number with these bits set."""
    number = 0
    for position in positions:
        number |= 1 << position
    return number


def bits(number: int) -> list[int]:
    """The positions of the bits that are set, ascending."""
    positions = []
    while number:
        lowest = number & -number
        positions.append(lowest.bit_length() - 1)
        number ^= lowest
    return positions


Sighting = tuple[float, Descriptor]
"""When the peer was last heard from by anybody (s of trial time), and its descriptor."""


def ages_ms(sightings: Sequence[Sighting], now: float) -> list[int]:
    """How long ago each was heard from, for a message."""
    return [int((now - heard) * 1000) if heard < now else 0 for heard, _ in sightings]


def told(profiles: Iterable[bytes], ages: Iterable[int], now: float) -> list[Sighting]:
    """The sightings of a message: encoded profiles and their ages (ms). Raises DecodeError."""
    known = _decoded.get
    return [
        (now - age / 1000, known(encoded) or decode(encoded))
        for encoded, age in zip(profiles, ages, strict=True)
    ]


def merge(into: dict[int, Sighting], sightings: Sequence[Sighting]) -> None:
    """Add sightings by peer; the newer profile and the later hearing win."""
    for sighting in sightings:
        peer = sighting[1].peer
        known = into.get(peer)
        if known is None:
            into[peer] = sighting
        elif known[1] is sighting[1]:
            if sighting[0] > known[0]:
                into[peer] = sighting
        else:
            newest = sighting[1] if sighting[1].version > known[1].version else known[1]
            into[peer] = (max(sighting[0], known[0]), newest)
