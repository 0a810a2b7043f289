"""Messages of applications on their way to the peers that are the closest to their keys.

Iteratively, as the paper looks keys up, the origin of a message finds the closest peer and sends the message
straight there. Recursively, each peer passes it on to its closest contact, as other overlays route. Each hop
is acknowledged, and a message goes around a peer that is silent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from emulator.compact.number_sets import LARGEST
from emulator.contract.protocol import Contact, Environment, Message
from emulator.contract.recent import RecentNumbers
from emulator.protocols.overlays.held_messages import HeldMessages
from emulator.protocols.overlays.kademlia.known_contacts import KnownContacts
from emulator.protocols.overlays.kademlia.node_lookup import Candidate, NodeLookup, NodeLookups
from emulator.protocols.overlays.kademlia.parameters import KademliaParameters
from trellis.v1.kademlia import Carried, Carry
from trellis.v1.overlay import LookupRequest

MOST_HOPS: Final = 1000
"""A message that was passed on so often is dropped. Each hop is nearer to the key, so only liars cause it."""
_MEMORY: Final = 30.0
"""The least seconds for which a peer remembers the messages that ended here."""
_SESSION: Final = 1 << 20
"""The count of message numbers that each session has for itself."""


class _Passage:
    """A message at this peer, which may have to go around silent peers."""

    __slots__ = ("allowed", "avoided", "came", "found", "message", "origin")

    def __init__(self, came: Carry, message: Message, origin: Contact) -> None:
        self.came = came
        self.message = message
        self.origin = origin
        self.allowed = False
        """This is true once the application has let the message go on from this peer."""
        self.avoided: list[int] = []
        self.found: list[Candidate] | None = None
        """The peers that the origin's lookup found and that have not been tried, the farthest first."""


class Carrying:
    """The part of one peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: KademliaParameters,
        known: KnownContacts,
        lookups: NodeLookups,
        *,
        ready: Callable[[], bool],
        forward: Callable[[int, Message, int, int], bool],
        deliver: Callable[[int, Message, Contact, int], None],
        silent: Callable[[int], None],
        found: Callable[[NodeLookup], None],
    ) -> None:
        """`ready` says whether this peer has joined.

        `forward(key, message, next hop, hops)` is asked whether the message may go on, and
        `deliver(key, message, origin, hops)` takes it at the closest peer. `silent(peer)` is told each
        time-out, and `found(lookup)` each lookup that ended.
        """
        self._environment = environment
        self._timeout = parameters.timeout
        self._retries = parameters.retries
        self._iterative = parameters.iterative
        self._k = parameters.k
        self._known = known
        self._lookups = lookups
        self._ready = ready
        self._forward = forward
        self._deliver = deliver
        self._silent = silent
        self._found = found
        # A peer that comes back must not repeat the numbers of its last session.
        self._sequence = environment.session * _SESSION
        self._held = HeldMessages(environment)
        self._ended = RecentNumbers(environment, _MEMORY)
        environment.serve(Carry, self._on_carry)

    def route(self, key: int, message: Message) -> None:
        """Send this peer's own message towards the key."""
        self._sequence += 1
        me = self._known.me
        passage = _Passage(Carry(key, me, 0, message, self._sequence), message, me)
        if self._ready():
            self._begin(passage)
        else:
            self._held.hold(partial(self._begin_if_ready, passage))

    def release(self) -> None:
        """Send what this peer kept until it had joined."""
        self._held.release()

    def _begin_if_ready(self, passage: _Passage) -> None:
        if self._ready():
            self._begin(passage)

    def _begin(self, passage: _Passage) -> None:
        if self._iterative == "all" or (
            self._iterative == "lookups" and isinstance(passage.message, LookupRequest)
        ):
            ended = partial(self._on_found, passage)
            self._lookups.begin(NodeLookup(passage.came.key, ended, control=True, for_application=True))
        else:
            self._pass_on(passage)

    def _on_found(self, passage: _Passage, lookup: NodeLookup) -> None:
        self._found(lookup)
        passage.found = lookup.closest(self._k)[::-1]
        self._send_straight(passage)

    def _send_straight(self, passage: _Passage) -> None:
        """Send a message to the closest peer that was found and not tried; keep it if none is closer."""
        key = passage.came.key
        closest = passage.found.pop() if passage.found else None
        if closest is None or closest.contact.identifier ^ key > self._known.me.identifier ^ key:
            self._arrive(passage, 0)
        elif self._may_go_on(passage, closest.contact.peer):
            self._send(passage, closest.contact.peer, closest.depth, self._retries)

    def _on_carry(self, sender: int, carry: Carry) -> Carried:
        self._known.hear(sender, carry.identifier)
        message, origin = carry.message, carry.origin
        if message is None or origin is None:
            self._environment.drop(Carry, "it lacks a part")
        elif not self._ready():
            return Carried(self._known.me.identifier, True)
        elif carry.at_closest:
            self._arrive(_Passage(carry, message, origin), carry.hops)
        else:
            self._pass_on(_Passage(carry, message, origin))
        return Carried(self._known.me.identifier)

    def _pass_on(self, passage: _Passage) -> None:
        came = passage.came
        hop = self._known.next_hop(came.key, passage.avoided)
        if hop is None:
            self._arrive(passage, came.hops)
        elif came.hops >= MOST_HOPS:
            self._environment.drop(Carry, "it went too many hops")
        elif self._may_go_on(passage, hop.peer):
            self._send(passage, hop.peer, came.hops + 1, self._retries)

    def _may_go_on(self, passage: _Passage, next_hop: int) -> bool:
        """Ask the application once whether the message may go on, however many peers are silent."""
        came = passage.came
        passage.allowed = passage.allowed or self._forward(came.key, passage.message, next_hop, came.hops)
        return passage.allowed

    def _send(self, passage: _Passage, peer: int, hops: int, retries: int) -> None:
        came = passage.came
        straight = passage.found is not None
        me = self._known.me.identifier
        self._environment.request(
            peer,
            Carry(came.key, came.origin, hops, passage.message, came.sequence, straight, me),
            self._timeout,
            partial(self._on_reply, passage, peer),
            partial(self._on_silence, passage, peer, hops, retries),
        )

    def _on_reply(self, passage: _Passage, peer: int, reply: Message) -> None:
        if not isinstance(reply, Carried):
            self._environment.drop(type(reply), "it answers something else")
            self._go_around(passage, peer)
            return
        self._known.hear(peer, reply.identifier)
        if reply.refused:
            self._go_around(passage, peer)

    def _on_silence(self, passage: _Passage, peer: int, hops: int, retries: int) -> None:
        if retries and self._known.may_be_asked(peer):
            self._send(passage, peer, hops, retries - 1)
            return
        self._silent(peer)
        self._known.fail(peer)
        self._go_around(passage, peer)

    def _go_around(self, passage: _Passage, peer: int) -> None:
        if passage.found is not None:
            self._send_straight(passage)
        else:
            passage.avoided.append(peer)
            self._pass_on(passage)

    def _arrive(self, passage: _Passage, hops: int) -> None:
        """Deliver a message, unless it has arrived before by another way."""
        if self._ended.add((passage.origin.peer << 32 | passage.came.sequence) & LARGEST):
            self._deliver(passage.came.key, passage.message, passage.origin, hops)
