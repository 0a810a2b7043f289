"""The long links of a peer, and the links that others have to it.

A link goes to a peer in a uniformly chosen partition: of two candidates, to the one with fewer links to it. A
peer refuses when it has twice as many links to it as long links of its own (OSCAR, ICDE 2007: power of two
choices, bounded in-degree). Biased links draw two candidates from a partition each and take the one with more
similar interests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.contract.protocol import Contact, Environment, Message, Timer
from emulator.protocols.overlays.oscar.member import RingMember
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.protocols.overlays.oscar.partitions import Candidate, Partitions
from trellis.v1.oscar import LinkReply, LongLinkEnd, LongLinkRequest
from trellis.v1.overlay import Profile

_MOST_INCOMING: Final = 2
"""A peer takes at most this many times the number of its own long links."""
_SILENT_PERIODS: Final = 3


class _Incoming:
    __slots__ = ("contact", "heard")

    def __init__(self, contact: Contact, heard: float) -> None:
        self.contact = contact
        self.heard = heard


class LongLinks:
    """The long links from a peer and to it."""

    def __init__(
        self,
        environment: Environment,
        parameters: RingParameters,
        mask: int,
        member: RingMember,
        prefers: Callable[[Profile], float] | None,
    ) -> None:
        """`mask` has all bits of identifiers set.

        No long link is spent on the successor. `prefers` scores how much a link to a peer with these
        interests is wanted, whatever the peer's load; then only the bound on links limits the load. None
        leaves links unbiased.
        """
        self._environment = environment
        self._wanted = parameters.long_links
        self._bound = _MOST_INCOMING * parameters.long_links
        self._timeout = parameters.timeout
        self._lifetime = _SILENT_PERIODS * parameters.link_period
        self._mask = mask
        self._member = member
        self._prefers = prefers
        self.out: dict[int, Contact] = {}
        self.incoming: dict[int, _Incoming] = {}
        self.version = 0
        """A count that grows whenever a link to this peer comes or goes."""
        self._retiring: dict[int, Contact] = {}
        """The links of the previous wiring, kept until the new ones stand."""
        self._asked: dict[int, Timer] = {}
        self._missed: set[int] = set()
        """The linked peers that have left one question unanswered."""
        self._partitions = Partitions()
        environment.serve(LongLinkRequest, self._on_request)
        environment.handle(LongLinkEnd, self._on_end)

    def contacts(self) -> list[Contact]:
        """Return the peers that routes may lead over."""
        return [*self.out.values(), *self._retiring.values()]

    def linked(self) -> list[Contact]:
        """Return the peers at the other ends of the links in both directions."""
        return [*self.contacts(), *(link.contact for link in self.incoming.values())]

    def choose(self, partitions: Partitions) -> None:
        """Choose the links anew from these partitions.

        A present link serves where its partition is drawn, so no more links change than have to, and each
        partition gets as many links as if all were new. Biased links are all drawn anew: a present link
        serves only if the very same peer is drawn again.
        """
        self._forget_asked()
        self._partitions = partitions
        present: list[list[Contact]] = [[] for _ in range(len(partitions))]
        own = self._member.own_contact()
        if own is not None:
            for contact in self.out.values():
                number = partitions.number_of((contact.identifier - own.identifier) & self._mask)
                if number >= 0:
                    present[number].append(contact)
        self._retiring |= self.out
        self.out = {}
        rng = self._environment.random
        if self._prefers is None:
            for _ in range(self._wanted if present else 0):
                number = rng.randrange(len(present))
                if present[number]:
                    kept = present[number].pop(rng.randrange(len(present[number])))
                    self._retiring.pop(kept.peer, None)
                    self.out[kept.peer] = kept
                else:
                    candidate = partitions.draw_from(number, rng)
                    if candidate is not None:
                        self._take(candidate.contact)
        self._fill()

    def drop(self, peer: int) -> None:
        """Drop this peer, and take another one in its place."""
        self._forget(peer)
        asked = self._asked.pop(peer, None)
        if asked is not None:
            asked.cancel()
        self._lose(peer)
        if asked is not None:
            self._fill()

    def leave(self) -> None:
        """End all links, because this peer leaves or moves to another place."""
        self._forget_asked()
        ended = {*self.out, *self._retiring, *self.incoming}
        gone = [*self.out.values(), *self._retiring.values()]
        self.clear()
        for peer in ended:
            self._environment.send(peer, LongLinkEnd())
        for contact in gone:
            self._member.link_changed(None, contact)

    def clear(self) -> None:
        """Forget all links without telling anybody."""
        self._forget_asked()
        self.out, self._retiring, self.incoming = {}, {}, {}
        self._partitions = Partitions()

    def check(self) -> None:
        """Ask all linked peers whether the links stand; drop incoming links that were silent too long."""
        oldest = self._environment.now - self._lifetime
        for peer in [peer for peer, link in self.incoming.items() if link.heard < oldest]:
            self._forget(peer)
        for contact in self.out.values():
            self._ask(contact, again=True)
        self._fill()

    def _check_once_more(self, contact: Contact) -> None:
        """Ask again, because a message may have been lost; a second silence ends the link."""
        self._missed.add(contact.peer)
        self._ask(contact, again=True)

    def _fill(self) -> None:
        """Ask as many candidates as links are missing.

        If none are left, links stay missing until the next wiring.
        """
        while len(self.out) + len(self._asked) < self._wanted:
            contact = self._draw()
            if contact is None:
                break
            self._take(contact)
        if not self._asked and self._retiring:
            self._retire()

    def _take(self, contact: Contact) -> None:
        """Ask the contact for a link, if there is none to it yet."""
        known = contact.peer in self.out or contact.peer in self._asked
        if known or contact.peer == self._member.next_on_ring():
            return
        kept = self._retiring.pop(contact.peer, None)
        if kept is not None:
            self.out[contact.peer] = kept
        else:
            self._ask(contact, again=False)

    def _draw(self) -> Contact | None:
        prefers = self._prefers
        if prefers is None:
            candidate = self._partitions.draw(self._environment.random)
            return None if candidate is None else candidate.contact
        drawn = self._partitions.draw_each(self._environment.random)
        if not drawn:
            return None
        best = max(drawn, key=lambda pair: _score(prefers, pair[1]))
        for number, candidate in drawn:
            if candidate is not best[1]:
                self._partitions.put_back(number, candidate)
        return best[1].contact

    def _ask(self, contact: Contact, again: bool) -> None:
        own = self._member.own_contact()
        if own is None:
            return
        timer = self._environment.request(
            contact.peer,
            LongLinkRequest(own),
            self._timeout,
            lambda reply: self._replied(contact, reply),
            lambda: self._unanswered(contact),
        )
        if not again:
            self._asked[contact.peer] = timer

    def _replied(self, contact: Contact, reply: Message) -> None:
        if not isinstance(reply, LinkReply):
            self._environment.drop(type(reply), "it answers something else")
            self._unanswered(contact)
            return
        asked = self._asked.pop(contact.peer, None)
        self._missed.discard(contact.peer)
        stands = reply.accepted and reply.identifier == contact.identifier
        if asked is not None and stands:
            self.out[contact.peer] = contact
            self._member.link_changed(contact, None)
        elif not stands:
            self._lose(contact.peer)
        if asked is not None:
            self._fill()

    def _unanswered(self, contact: Contact) -> None:
        asked = self._asked.pop(contact.peer, None)
        if asked is None and contact.peer in self.out and contact.peer not in self._missed:
            self._check_once_more(contact)
            return
        self._missed.discard(contact.peer)
        self._lose(contact.peer)
        if asked is not None:
            self._fill()

    def _forget(self, peer: int) -> None:
        if self.incoming.pop(peer, None) is not None:
            self.version += 1

    def _lose(self, peer: int) -> None:
        gone = self.out.pop(peer, None)
        if gone is None:
            gone = self._retiring.pop(peer, None)
        if gone is not None:
            self._member.link_changed(None, gone)

    def _retire(self) -> None:
        gone = list(self._retiring.values())
        self._retiring = {}
        for contact in gone:
            self._environment.send(contact.peer, LongLinkEnd())
            self._member.link_changed(None, contact)

    def _forget_asked(self) -> None:
        for timer in self._asked.values():
            timer.cancel()
        self._asked = {}

    def _on_request(self, sender: int, message: LongLinkRequest) -> LinkReply:
        own = self._member.own_contact()
        contact = message.own
        if contact is None:
            self._environment.drop(LongLinkRequest, "it lacks a part")
            return LinkReply(False, 0)
        if own is None:
            return LinkReply(False, 0)
        if sender not in self.incoming and len(self.incoming) >= self._bound:
            return LinkReply(False, own.identifier)
        self.incoming[sender] = _Incoming(contact, self._environment.now)
        self.version += 1
        return LinkReply(True, own.identifier)

    def _on_end(self, sender: int, message: LongLinkEnd) -> None:
        self._forget(sender)
        self._lose(sender)


def _score(prefers: Callable[[Profile], float], candidate: Candidate) -> float:
    return prefers(candidate.profile) if candidate.profile is not None else 0.0
