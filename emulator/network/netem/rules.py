"""The traffic-control rules that delay each destination, as data: classes, hash tables, filters.

A packet's destination address is looked up in two hash tables of 256 buckets: the third byte chooses a second
table, the fourth byte a bucket of it, and in the bucket a filter for the whole address names the class. That
finds one of 5,000 destinations by three comparisons in a cluster whose pods share the first two bytes.
Addresses that differ only in these bytes share a bucket and are compared one by one. A packet that matches no
filter has no class, and no delay. Where the kernel limits rates, the filters of destinations also send
packets through the up link, and tables of the same form find the sources whose packets take the down link.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping
from dataclasses import dataclass

QUANTUM = 0.00025
"""The seconds between the one-way delays of neighbouring classes, which is also the greatest error of a round
trip."""
PACKETS_PER_SECOND = 50_000
"""The most packets a second that a host may send to one class's destinations; the length of its queue
follows."""

BUCKETS = 256
ROOT_TABLE = 0x800
"""The table that the kernel makes, in which every lookup begins."""
FIRST_TABLE = 1
"""The first table, hashed by the third byte."""
_SECOND_TABLES = 2
"""The number of the second table for a third byte of 0."""
_WHOLE = 0xFFFFFFFF
_LEAST_LIMIT = 1000
_LAST_CLASS = 0xFFFD
"""The number of the last class: class n has a queue with the handle n+1, and 0xFFFF is not free."""
_LAST_NODE = 0xFFF
_FIRST_SHARE = 2
"""The number of the first share: the link itself is class 1."""
_LAST_SHARE = 0xFFF0


@dataclass(frozen=True, slots=True)
class DelayClass:
    """A class of the HTB whose packets all wait `delay_ns`; at most `limit` of them at a time."""

    minor: int
    delay_ns: int
    limit: int

    @property
    def key(self) -> tuple[str, int]:
        return ("class", self.minor)


@dataclass(frozen=True, slots=True)
class Share:
    """A class of a link that peers share, with what one peer sends or is sent."""

    minor: int

    @property
    def key(self) -> tuple[str, int]:
        return ("class", self.minor)


@dataclass(frozen=True, slots=True)
class Table:
    """A hash table of filters with `BUCKETS` buckets."""

    number: int

    @property
    def key(self) -> tuple[str, int]:
        return ("table", self.number)

    @property
    def handle(self) -> int:
        return self.number << 20


@dataclass(frozen=True, slots=True)
class Filter:
    """One comparison of the destination address, in a bucket of a table.

    If the address, masked by `mask`, is `value`, the packet belongs to the class `target`, or is looked up in
    the table `link`, in the bucket that the bits under `hash_mask` give. With neither it is found, and has no
    class.
    """

    handle: int
    value: int
    mask: int
    target: int | None = None
    link: int | None = None
    hash_mask: int = 0

    @property
    def key(self) -> tuple[str, int]:
        return ("filter", self.handle)

    @property
    def bucket(self) -> int:
        """The handle of the filter's bucket, without the filter's own number."""
        return self.handle & ~_LAST_NODE


Rule = DelayClass | Share | Table | Filter


def address_number(address: str) -> int:
    """Return an IPv4 address as a number. Raises ValueError for any other text."""
    try:
        return int(ipaddress.IPv4Address(address))
    except ValueError:
        raise ValueError(f"{address!r} is not an IPv4 address, and netem's filters know no other") from None


class Destinations:
    """The rules of a changing set of destinations."""

    def __init__(self, quantum: float = QUANTUM, packets_per_second: float = PACKETS_PER_SECOND) -> None:
        """`quantum` in seconds. Raises ValueError if it is below 1 microsecond."""
        if not quantum >= 1e-6:
            raise ValueError(f"a quantum of {quantum} s is below 1 microsecond")
        self.quantum_ns = round(quantum * 1e9)
        self._packets_per_second = packets_per_second
        self._handles: dict[int, int] = {}
        self._taken: dict[int, set[int]] = {}
        self._shares: dict[int, int] = {}
        """The numbers of addresses as classes of shared links, which they keep."""

    def minor(self, seconds: float) -> int:
        """Return the class nearest to a one-way delay; 0 is no class.

        Raises ValueError if no class is that slow.
        """
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"{seconds} s is no delay")
        minor = round(seconds * 1e9 / self.quantum_ns)
        if minor > _LAST_CLASS:
            longest = _LAST_CLASS * self.quantum_ns / 1e9
            raise ValueError(f"a delay of {seconds} s is above {longest:g} s, the longest for this quantum")
        return minor

    def rules_to(self, address: str, seconds: float) -> list[Rule]:
        """Return all rules that one destination needs, in the order in which the kernel takes them.

        The last rule is the destination's filter. The rules before it may be there already for other
        destinations. A delay that is rounded to 0 has a filter without a class. Raises ValueError for a bad
        address, for a delay that has no class, and when 4,095 destinations have the same last two bytes.
        """
        minor = self.minor(seconds)
        if minor == 0:
            return self.rules_of(address, None)
        return [self._delay_class(minor), *self.rules_of(address, minor)]

    def rules_of_share(self, address: str) -> list[Rule]:
        """Return all rules by which a peer has a share of a link of its own.

        Raises ValueError as `rules_to` does, and for more than 65,000 peers.
        """
        share = self._shares.setdefault(address_number(address), _FIRST_SHARE + len(self._shares))
        if share > _LAST_SHARE:
            raise ValueError(f"a link cannot be shared by more than {_LAST_SHARE} peers")
        return [Share(share), *self.rules_of(address, share)]

    def rules_of(self, address: str, target: int | None) -> list[Rule]:
        """Return the tables and filters by which an address is found; `target` is its class, if it has one.

        Raises ValueError as `rules_to` does.
        """
        number = address_number(address)
        handle = self._handles.get(number) or self._take_handle(number)
        second = Table(handle >> 20)
        third_byte = second.number - _SECOND_TABLES
        return [
            Table(FIRST_TABLE),
            Filter(ROOT_TABLE << 20 | 1, 0, 0, link=FIRST_TABLE, hash_mask=0x0000FF00),
            second,
            Filter(FIRST_TABLE << 20 | third_byte << 12 | 1, 0, 0, link=second.number, hash_mask=0x000000FF),
            Filter(handle, number, _WHOLE, target),
        ]

    def forget(self, address: str) -> int | None:
        """Remove a destination. Returns the handle of its filter, or None if it had none."""
        handle = self._handles.pop(address_number(address), None)
        if handle is not None:
            self._taken[handle & ~_LAST_NODE].discard(handle & _LAST_NODE)
        return handle

    def _delay_class(self, minor: int) -> DelayClass:
        delay_ns = minor * self.quantum_ns
        limit = max(_LEAST_LIMIT, math.ceil(self._packets_per_second * delay_ns / 1e9))
        return DelayClass(minor, delay_ns, limit)

    def _take_handle(self, number: int) -> int:
        bucket = (_SECOND_TABLES + (number >> 8 & 0xFF)) << 20 | (number & 0xFF) << 12
        taken = self._taken.setdefault(bucket, set())
        node = next((node for node in range(1, _LAST_NODE + 1) if node not in taken), None)
        if node is None:
            raise ValueError(
                f"{_LAST_NODE} destinations share their last two bytes; there is no room for more"
            )
        taken.add(node)
        self._handles[number] = bucket | node
        return bucket | node


def rules_for(destinations: Mapping[str, float], quantum: float = QUANTUM) -> list[Rule]:
    """Return the whole rule set for destinations (IPv4 address: one-way delay in seconds), each rule once.

    A delay that is rounded to 0 has no rule. Raises ValueError as `Destinations.rules_to` does.
    """
    book = Destinations(quantum)
    found: dict[Rule, None] = {}
    for address, seconds in destinations.items():
        if book.minor(seconds):
            found.update(dict.fromkeys(book.rules_to(address, seconds)))
    return list(found)
