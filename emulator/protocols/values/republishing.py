"""Republishing: values stay at the k closest peers while these come and go (Kademlia, section 2.5)."""

from __future__ import annotations

from typing import Final

from emulator.contract.protocol import Contact
from emulator.protocols.overlays.kademlia import Kademlia
from emulator.protocols.overlays.kademlia.node_lookup import NodeLookup
from emulator.protocols.values.kept_values import KeptValues
from emulator.protocols.values.parameters import KademliaStoreParameters
from emulator.protocols.values.storing import Storing
from trellis.v1.values import StoredValue

_CHECKS: Final = 60
"""The looks at all copies in the time after which one is republished."""


class _Own:
    """A value that this peer has put."""

    __slots__ = ("put", "value")

    def __init__(self, value: StoredValue, put: float) -> None:
        self.value = value
        self.put = put
        """When it was last put (s)."""


class Republishing:
    """The part of one peer."""

    def __init__(
        self, kademlia: Kademlia, parameters: KademliaStoreParameters, kept: KeptValues, storing: Storing
    ) -> None:
        self._kademlia = kademlia
        self._environment = kademlia.environment
        self._period = parameters.republish
        self._expiry = parameters.expiry
        self._kept = kept
        self._storing = storing
        self._own: dict[int, _Own] = {}
        self._running = False

    def start(self) -> None:
        """Look from now on which copies are to be republished, and which have expired."""
        self._environment.every(self._period / _CHECKS, self._check)

    def own(self, value: StoredValue) -> None:
        """Put this value of an application again in time, before its copies expire."""
        self._own[value.key] = _Own(value, self._environment.now)

    def welcome(self, newcomer: Contact) -> None:
        """Give a newcomer the values to whose keys it is closer than this peer."""
        me = self._kademlia.identifier
        for kept in self._kept:
            key = kept.value.key
            if not kept.cached and newcomer.identifier ^ key < me ^ key:
                self._storing.give(newcomer.peer, kept.value, self._kept.age(kept))

    def _check(self) -> None:
        self._kept.expire()
        if not self._running:
            self._running = True
            self._republish_next()

    def _republish_next(self) -> None:
        """Republish what is due, one after the other.

        A holder leaves out what others stored here within the period: they have republished it (2.5).
        """
        now = self._environment.now
        for own in self._own.values():
            if own.put + self._expiry <= now:
                own.put = now
                self._storing.store(own.value, 0.0, self._stored, asked=False)
                return
        for kept in self._kept:
            if not kept.cached and kept.stored + self._period <= now:
                kept.stored = now
                self._storing.store(kept.value, self._kept.age(kept), self._stored, asked=False)
                return
        self._running = False

    def _stored(self, lookup: NodeLookup, copies: int) -> None:
        self._republish_next()
