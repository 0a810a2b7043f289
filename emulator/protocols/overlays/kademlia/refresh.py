"""Refreshing: buckets in whose range no lookup was made for an hour get one for a random identifier (2.3)."""

from __future__ import annotations

from functools import partial
from typing import Final

from emulator.contract.protocol import Environment
from emulator.protocols.overlays.kademlia.k_bucket import KBucket
from emulator.protocols.overlays.kademlia.known_contacts import KnownContacts
from emulator.protocols.overlays.kademlia.node_lookup import NodeLookup, NodeLookups
from emulator.protocols.overlays.kademlia.parameters import KademliaParameters

_CHECKS: Final = 10
"""The looks at all buckets in the time after which one is refreshed."""


class Refresh:
    """The part of one peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: KademliaParameters,
        known: KnownContacts,
        lookups: NodeLookups,
    ) -> None:
        self._environment = environment
        self._period = parameters.refresh
        self._known = known
        self._lookups = lookups
        self._running = False

    def start(self) -> None:
        """Look from now on which buckets are to be refreshed."""
        self._environment.every(self._period / _CHECKS, self._check)

    def refresh(self, before: float) -> None:
        """Refresh the buckets without a lookup since this time, one after the other."""
        if not self._running:
            self._running = True
            self._refresh_next(before)

    def _check(self) -> None:
        self.refresh(self._environment.now - self._period)

    def _refresh_next(self, before: float) -> None:
        for bucket in self._known.table.buckets:
            if bucket.looked_up < before and len(self._known.table):
                self._lookups.begin(NodeLookup(self._key_in(bucket), partial(self._ended, before)))
                return
        self._running = False

    def _ended(self, before: float, lookup: NodeLookup) -> None:
        self._refresh_next(before)

    def _key_in(self, bucket: KBucket) -> int:
        """Return this peer's own identifier if it lies in the bucket's range, otherwise a random one."""
        if self._known.table.is_own(bucket):
            return self._known.me.identifier
        free = self._known.bits - bucket.depth
        return bucket.low | (self._environment.random.getrandbits(free) if free else 0)
