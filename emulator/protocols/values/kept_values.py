"""The values that a peer of Kademlia keeps, and for how long (sections 2.3 and 2.5)."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.protocols.overlays.kademlia import Kademlia
from emulator.protocols.values.parameters import KademliaStoreParameters
from trellis.v1.values import StoredValue


class KeptValue:
    """One copy."""

    __slots__ = ("born", "cached", "expires", "stored", "value")

    def __init__(self, value: StoredValue, born: float, stored: float, expires: float, cached: bool) -> None:
        self.value = value
        self.born = born
        """When whoever put the value stored it last (s)."""
        self.stored = stored
        """When this peer was last given the copy, or republished it (s)."""
        self.expires = expires
        self.cached = cached
        """Whether a peer left it that had found it elsewhere."""


class KeptValues:
    """The copies of one peer."""

    def __init__(self, kademlia: Kademlia, parameters: KademliaStoreParameters) -> None:
        self._kademlia = kademlia
        self._k = parameters.overlay.k
        self._expiry = parameters.expiry
        self._kept: dict[int, KeptValue] = {}
        self.bytes = 0
        """The size of all payloads."""

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[KeptValue]:
        return iter(list(self._kept.values()))

    def get(self, key: int) -> KeptValue | None:
        """Return the copy under a key, None if there is none that has not expired."""
        kept = self._kept.get(key)
        return kept if kept is not None and kept.expires > self._kademlia.environment.now else None

    def age(self, kept: KeptValue) -> int:
        """Return the whole seconds since whoever put the value stored it last."""
        return max(0, int(self._kademlia.environment.now - kept.born))

    def keep(self, value: StoredValue, age: float, cached: bool) -> None:
        """Keep a copy, unless a later version is there.

        It expires a lifetime after it was put. A cached one lives half as long for each peer, beyond the k
        closest, that this peer knows to be closer to the key; the paper says that the time is exponentially
        inversely proportional to their number (2.3).
        """
        now = self._kademlia.environment.now
        born = now - age
        expires = born + self._expiry
        kept = self._kept.get(value.key)
        if kept is not None:
            if kept.value.version > value.version or (cached and kept.value.version == value.version):
                return
            if kept.value.version == value.version:
                born, expires = max(born, kept.born), max(expires, kept.born + self._expiry)
        if cached:
            beyond = max(0, self._closer(value.key) - self._k + 1)
            expires = min(expires, now + self._expiry / 2 ** min(beyond, 60))
        if expires <= now:
            return
        self.bytes += len(value.payload) - (0 if kept is None else len(kept.value.payload))
        self._kept[value.key] = KeptValue(value, born, now, expires, cached)

    def expire(self) -> None:
        """Forget all copies whose time is over."""
        now = self._kademlia.environment.now
        for kept in self:
            if kept.expires <= now:
                del self._kept[kept.value.key]
                self.bytes -= len(kept.value.payload)

    def _closer(self, key: int) -> int:
        """Return how many contacts are closer to the key than this peer."""
        own = self._kademlia.identifier ^ key
        return sum(known.contact.identifier ^ key < own for known in self._kademlia.known.table)
