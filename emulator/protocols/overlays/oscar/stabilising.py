"""Stabilisation of the ring: each peer asks its successor for its predecessor and its successors.

The rule is Chord's (Stoica et al., SIGCOMM 2001), with one message for its `stabilize` and `notify`.
"""

from __future__ import annotations

from typing import Final

from emulator.contract.protocol import Contact, Environment, Message
from emulator.protocols.overlays.oscar.member import RingMember
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.protocols.overlays.oscar.ring import RingNeighbours
from trellis.v1.oscar import RingLeave, Stabilise, Stabilised

_SILENT_PERIODS: Final = 4
_AVOIDED: Final = 10.0
"""The seconds for which a peer that did not answer is not accepted again when others tell of it."""


class Stabilising:
    """Both sides of the exchange with the successor."""

    def __init__(
        self,
        environment: Environment,
        parameters: RingParameters,
        ring: RingNeighbours,
        member: RingMember,
    ) -> None:
        self._environment = environment
        self._timeout = parameters.timeout
        self._lifetime = _SILENT_PERIODS * parameters.period
        self._ring = ring
        self._member = member
        self._heard = 0.0
        """The time at which the predecessor was last heard from (s)."""
        self._avoided: dict[int, float] = {}
        self._missed = -1
        """The successor that has left one question unanswered, so that the next silence counts; -1
        for none."""
        environment.serve(Stabilise, self._on_stabilise)
        environment.handle(RingLeave, self._on_leave)

    def round(self) -> None:
        """Ask the successor; forget a predecessor that has been silent for too long."""
        own, ring, now = self._member.own_contact(), self._ring, self._environment.now
        for peer in [peer for peer, until in self._avoided.items() if until < now]:
            del self._avoided[peer]
        if own is None:
            return
        if ring.predecessor is not None and self._heard < now - self._lifetime:
            ring.predecessor = None
            self._member.ring_changed()
        self._ask_successor(own)

    def hear_predecessor(self) -> None:
        """Note that the predecessor was heard from now."""
        self._heard = self._environment.now

    def leave(self) -> None:
        """Tell the two neighbours on the ring that they are each other's neighbours now."""
        ring = self._ring
        told = {contact.peer for contact in ring.successors[:1]}
        if ring.predecessor is not None:
            told.add(ring.predecessor.peer)
        for peer in told:
            self._environment.send(peer, RingLeave(ring.predecessor, ring.successors, ring.own))

    def avoid(self, peer: int) -> None:
        """Note that the peer did not answer."""
        self._avoided[peer] = self._environment.now + _AVOIDED

    def _ask_successor(self, own: Contact) -> None:
        if not self._ring.successors:
            return
        successor = self._ring.successors[0]
        self._environment.request(
            successor.peer,
            Stabilise(own),
            self._timeout,
            lambda reply: self._replied(successor, reply),
            lambda: self._unanswered(successor),
        )

    def _replied(self, successor: Contact, reply: Message) -> None:
        if not isinstance(reply, Stabilised):
            self._environment.drop(type(reply), "it answers something else")
            self._unanswered(successor)
            return
        ring, own = self._ring, self._member.own_contact()
        self._missed = -1
        if own is None or not ring.successors or ring.successors[0] != successor:
            return
        if reply.identifier != successor.identifier:
            ring.drop(successor.peer)
            ring.learn([Contact(successor.peer, reply.identifier)])
            self._member.ring_changed()
            return
        before = ring.successors
        ring.follow(successor, [contact for contact in reply.successors if contact.peer not in self._avoided])
        between = reply.predecessor
        if between is not None and between.identifier == own.identifier and between.peer != own.peer:
            self._member.part_from(between.peer)
        elif between is not None and between.peer not in self._avoided and ring.learn([between]):
            self._ask_successor(own)
        if ring.successors != before:
            self._member.ring_changed()

    def _unanswered(self, successor: Contact) -> None:
        """Ask once more, because a message may have been lost; drop a peer that is silent again."""
        own = self._member.own_contact()
        if successor.peer != self._missed:
            self._missed = successor.peer
        else:
            self._missed = -1
            self.avoid(successor.peer)
            if self._ring.drop(successor.peer):
                self._member.ring_changed()
        if own is not None:
            self._ask_successor(own)

    def _on_stabilise(self, sender: int, message: Stabilise) -> Stabilised | None:
        own, ring = self._member.own_contact(), self._ring
        if message.own is None:
            self._environment.drop(Stabilise, "it lacks a part")
            return None
        if own is None:
            return None
        self._avoided.pop(sender, None)
        before = ring.predecessor
        ring.precede(message.own)
        if ring.predecessor == message.own:
            self._heard = self._environment.now
        if ring.predecessor != before:
            self._member.ring_changed()
        return Stabilised(own.identifier, ring.predecessor, ring.successors)

    def _on_leave(self, sender: int, message: RingLeave) -> None:
        ring = self._ring
        before = ring.predecessor
        if not ring.leave(Contact(sender, message.identifier)):
            return
        ring.learn([contact for contact in message.successors if contact.peer not in self._avoided])
        if before is not None and before.peer == sender and message.predecessor is not None:
            if message.predecessor.peer != self._environment.peer:
                ring.precede(message.predecessor)
            self._heard = self._environment.now
        self._member.ring_changed()
