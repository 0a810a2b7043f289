"""Kademlia's own store of values: STORE and FIND_VALUE (Maymounkov, Mazieres, IPTPS 2002, sections 2.3 and
2.5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from emulator.contract.gauges import Gauge
from emulator.contract.protocol import Application, Completion, Contact, Environment, Message
from emulator.contract.system import System
from emulator.contract.value_service import GET, PUT, SERVED, ValueService
from emulator.protocols.overlays.kademlia import Kademlia
from emulator.protocols.overlays.kademlia.node_lookup import Candidate, NodeLookup
from emulator.protocols.overlays.kademlia.overlay import KADEMLIA
from emulator.protocols.values.kept_values import KeptValues
from emulator.protocols.values.parameters import KademliaStoreParameters
from emulator.protocols.values.republishing import Republishing
from emulator.protocols.values.storing import Storing
from trellis.v1.kademlia import FindValue, FoundValue
from trellis.v1.values import StoredValue

_AGAIN: Final = 1.0
"""The seconds after which a peer that has not joined tries an operation again."""
_TRIES: Final = 30


class KademliaStore(ValueService):
    """One peer."""

    GAUGES: ClassVar = {
        "values": Gauge("Copies of values that the peer holds.", "copies"),
        "value_bytes": Gauge("Payload of these copies.", "bytes"),
    }

    def __init__(self, environment: Environment, parameters: KademliaStoreParameters) -> None:
        super().__init__(environment)
        self._kademlia = Kademlia(environment.channel("overlay"), parameters.overlay)
        self._kademlia.add_listener(self)
        self._cache = parameters.cache
        self._kept = KeptValues(self._kademlia, parameters)
        self._storing = Storing(self._kademlia, parameters, self._kept)
        self._republishing = Republishing(self._kademlia, parameters, self._kept, self._storing)
        self._kademlia.environment.serve(FindValue, self._on_find_value)

    def start(self, contacts: Sequence[int]) -> None:
        self._kademlia.start(contacts)
        self._republishing.start()

    def stop(self, graceful: bool) -> None:
        self._kademlia.stop(graceful)

    def gauges(self) -> dict[str, float]:
        return {"values": float(len(self._kept)), "value_bytes": float(self._kept.bytes)}

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Store copies at a newcomer that is closer to their keys than this peer (2.5)."""
        if joined:
            self._republishing.welcome(contact)

    def put(self, number: int, key: int, version: int, payload: bytes) -> None:
        value = StoredValue(key, version, payload)
        self._when_joined(partial(self._put, number, value), _TRIES)

    def get(self, number: int, key: int) -> None:
        self._when_joined(partial(self._get, number, key), _TRIES)

    def _when_joined(self, call: Callable[[], None], tries: int) -> None:
        if self._kademlia.ready:
            call()
        elif tries:
            self.environment.set_timer(_AGAIN, partial(self._when_joined, call, tries - 1))

    def _put(self, number: int, value: StoredValue) -> None:
        self._republishing.own(value)
        self._storing.store(value, 0.0, partial(self._on_stored, number), asked=True)

    def _on_stored(self, number: int, lookup: NodeLookup, copies: int) -> None:
        if copies:
            found = lookup.closest(1)
            hops = found[0].depth if found else 0
            self.environment.deliver(Completion(PUT, number, hops, float(copies)))

    def _get(self, number: int, key: int) -> None:
        kept = self._kept.get(key)
        if kept is not None:
            self.environment.record(SERVED, 1.0)
            self._deliver(number, 0, kept.value.version)
            return
        ended, found = partial(self._on_nothing, number), partial(self._on_value, number)
        self._kademlia.lookups.begin(
            NodeLookup(key, ended, control=True, for_application=True, value_found=found)
        )

    def _on_nothing(self, number: int, lookup: NodeLookup) -> None:
        if lookup.answers:
            self._deliver(number, lookup.closest(1)[0].depth, 0)

    def _on_value(self, number: int, lookup: NodeLookup, holder: Candidate, reply: FoundValue) -> None:
        value = reply.value
        assert value is not None
        self._deliver(number, holder.depth, value.version)
        closest = lookup.closest_without_value()
        if self._cache and closest is not None:
            self._storing.leave(closest.contact.peer, value, reply.age_s)

    def _deliver(self, number: int, hops: int, version: int) -> None:
        self.environment.deliver(Completion(GET, number, hops, float(version)))

    def _on_find_value(self, sender: int, question: FindValue) -> Message:
        known = self._kademlia.known
        known.hear(sender, question.identifier)
        kept = self._kept.get(question.key)
        if kept is None:
            return self._kademlia.lookups.nodes_for(sender, question.key, control=True)
        self.environment.record(SERVED, 1.0)
        return FoundValue(known.me.identifier, kept.value, self._kept.age(kept))


def _create(environment: Environment, parameters: Any) -> Application:
    return KademliaStore(environment, parameters)


KADEMLIA_STORE: Final = System(
    "values-kademlia",
    "Kademlia's store of values",
    KADEMLIA.paper,
    KademliaStoreParameters,
    _create,
    serves="values",
    takes_identifiers=True,
    invariants=KADEMLIA.invariants,
)
