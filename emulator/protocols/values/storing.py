"""STORE: have the k closest peers to a key keep a copy of its value (Kademlia, section 2.3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from emulator.contract.protocol import Message
from emulator.protocols.overlays.kademlia import Kademlia
from emulator.protocols.overlays.kademlia.node_lookup import NodeLookup
from emulator.protocols.values.kept_values import KeptValues
from emulator.protocols.values.parameters import KademliaStoreParameters
from trellis.v1.kademlia import StoreValue, ValueKept
from trellis.v1.values import StoredValue

Stored = Callable[[NodeLookup, int], None]
"""A function that takes the lookup of the closest peers and the number of copies that they confirmed."""


class _Store:
    """A value on its way to those that are to keep it."""

    __slots__ = ("copies", "lookup", "open", "stored")

    def __init__(self, lookup: NodeLookup, stored: Stored) -> None:
        self.lookup = lookup
        self.stored = stored
        self.copies = 0
        self.open = 0
        """The peers that have neither answered nor failed."""


class Storing:
    """The part of one peer."""

    def __init__(self, kademlia: Kademlia, parameters: KademliaStoreParameters, kept: KeptValues) -> None:
        self._kademlia = kademlia
        self._environment = kademlia.environment
        self._kept = kept
        self._k = parameters.overlay.k
        self._timeout = parameters.overlay.timeout
        self._environment.serve(StoreValue, self._on_store)

    def store(self, value: StoredValue, age: float, stored: Stored, asked: bool) -> None:
        """Find the k closest peers to the key, have them keep the value, and call `stored`.

        `asked` says whether an application puts it.
        """
        ended = partial(self._on_found, value, age, stored, asked)
        self._kademlia.lookups.begin(NodeLookup(value.key, ended, control=asked, for_application=asked))

    def leave(self, peer: int, value: StoredValue, age: float) -> None:
        """Leave a cached copy at a peer."""
        self._send(peer, value, age, True, True, _ignore, _nothing)

    def give(self, peer: int, value: StoredValue, age: float) -> None:
        """Give a copy to a peer that came."""
        self._send(peer, value, age, False, False, _ignore, _nothing)

    def _on_found(
        self, value: StoredValue, age: float, stored: Stored, asked: bool, lookup: NodeLookup
    ) -> None:
        store = _Store(lookup, stored)
        closest = [candidate.contact for candidate in lookup.closest(self._k)]
        own = self._kademlia.identifier ^ value.key
        if len(closest) < self._k or own < closest[-1].identifier ^ value.key:
            closest = closest[: self._k - 1]
            self._kept.keep(value, age, False)
            store.copies = 1
        store.open = len(closest)
        for contact in closest:
            kept, failed = partial(self._on_kept, store), partial(self._counted, store)
            self._send(contact.peer, value, age, False, asked, kept, failed)
        if not closest:
            stored(lookup, store.copies)

    def _send(
        self,
        peer: int,
        value: StoredValue,
        age: float,
        cached: bool,
        asked: bool,
        replied: Callable[[Message], None],
        failed: Callable[[], None],
    ) -> None:
        message = StoreValue(self._kademlia.identifier, value, int(age), cached, asked)
        self._environment.request(peer, message, self._timeout, replied, failed)

    def _on_kept(self, store: _Store, reply: Message) -> None:
        if isinstance(reply, ValueKept):
            store.copies += 1
        else:
            self._environment.drop(type(reply), "it answers something else")
        self._counted(store)

    def _counted(self, store: _Store) -> None:
        store.open -= 1
        if store.open == 0:
            store.stored(store.lookup, store.copies)

    def _on_store(self, sender: int, message: StoreValue) -> ValueKept | None:
        self._kademlia.known.hear(sender, message.identifier)
        if message.value is None:
            self._environment.drop(StoreValue, "it has no value")
            return None
        self._kept.keep(message.value, float(message.age_s), message.cached)
        return ValueKept(self._kademlia.identifier)


def _ignore(reply: Message) -> None:
    """Do nothing: a copy more is no duty."""


def _nothing() -> None:
    """Do nothing: the k closest hold the value."""
