"""Who is a contact: peers that a message came from, as far as their buckets have room (2.2 and 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from emulator.contract.identifiers import IdentifierSpace
from emulator.contract.protocol import Contact, Environment, Message
from emulator.protocols.overlays.kademlia.k_bucket import KBucket, KnownContact
from emulator.protocols.overlays.kademlia.parameters import KademliaParameters
from emulator.protocols.overlays.kademlia.routing_table import RoutingTable
from trellis.v1.kademlia import ContactPing, ContactPong

_LONGEST: Final = 3600.0
"""The most seconds for which a contact is not asked because it was silent."""


class KnownContacts:
    """The contacts of one peer, and its answers to pings."""

    def __init__(
        self,
        environment: Environment,
        parameters: KademliaParameters,
        me: Contact,
        space: IdentifierSpace,
        changed: Callable[[Contact], None],
    ) -> None:
        """`changed(contact)` is told of each one that comes, goes, becomes silent or answers again."""
        self.me = me
        self.k = parameters.k
        self.bits = space.bits
        self.table = RoutingTable(me.identifier, space.bits, parameters.k, parameters.b)
        self._environment = environment
        self._parameters = parameters
        self._changed = changed
        environment.serve(ContactPing, self._answer)

    def hear(self, peer: int, identifier: int) -> None:
        """Note that a message of this peer came; it becomes a contact if there is room."""
        now = self._environment.now
        known = self.table.get(peer)
        if known is not None and known.contact.identifier != identifier:
            self._remove(known)
            known = None
        if known is not None:
            self.table.bucket_of(identifier).see(known, now)
            if known.failures:
                known.failures, known.locked_until = 0, now
                self._changed(known.contact)
        elif peer != self.me.peer:
            bucket = self.table.bucket_for(identifier)
            newcomer = KnownContact(Contact(peer, identifier), now)
            if len(bucket.contacts) < self.k:
                self._add(bucket, newcomer)
            else:
                self._knock(bucket, newcomer)

    def fail(self, peer: int) -> None:
        """Note that a peer left a request unanswered; what was under way while it is locked counts once."""
        known = self.table.get(peer)
        now = self._environment.now
        if known is None or known.locked_until > now:
            return
        known.failures += 1
        known.locked_until = now + min(_LONGEST, self._parameters.backoff * 2 ** min(known.failures - 1, 40))
        if known.failures >= self._parameters.failures:
            bucket = self.table.bucket_of(known.contact.identifier)
            replacement = bucket.replacement()
            if replacement is not None:
                self._replace(known, replacement)
                return
            if not self._parameters.keep_stale:
                self._remove(known)
                return
        self._changed(known.contact)

    def closest(self, key: int, count: int, but: int = -1) -> list[Contact]:
        """Return up to `count` contacts that may be asked, the closest to the key first, without `but`."""
        return self.table.closest(key, count, self._environment.now, but)

    def may_be_asked(self, peer: int) -> bool:
        """Return whether a peer is not locked because it was silent."""
        known = self.table.get(peer)
        return known is None or known.locked_until <= self._environment.now

    def next_hop(self, key: int, avoided: list[int]) -> Contact | None:
        """Return the closest contact to the key that answered when last asked; None if this peer is closer.

        Peers in `avoided` count as silent.
        """
        best, least = None, self.me.identifier ^ key
        for known in self.table:
            distance = known.contact.identifier ^ key
            if distance < least and not known.failures and known.contact.peer not in avoided:
                best, least = known.contact, distance
        return best

    def ping(self, peer: int, answered: Callable[[], None], silent: Callable[[], None]) -> None:
        """Ask a peer, which may be no contact yet, whether it is there."""
        self._ping(peer, self._parameters.retries, answered, silent)

    def _ping(
        self, peer: int, retries: int, answered: Callable[[], None], silent: Callable[[], None]
    ) -> None:
        self._environment.request(
            peer,
            ContactPing(self.me.identifier),
            self._parameters.timeout,
            partial(self._on_pong, peer, answered, silent),
            partial(self._on_silence, peer, retries, answered, silent),
        )

    def _on_pong(
        self, peer: int, answered: Callable[[], None], silent: Callable[[], None], reply: Message
    ) -> None:
        if isinstance(reply, ContactPong):
            self.hear(peer, reply.identifier)
            answered()
        else:
            self._environment.drop(type(reply), "it answers something else")
            self._on_silence(peer, 0, answered, silent)

    def _on_silence(
        self, peer: int, retries: int, answered: Callable[[], None], silent: Callable[[], None]
    ) -> None:
        if retries and self.may_be_asked(peer):
            self._ping(peer, retries - 1, answered, silent)
        else:
            self.fail(peer)
            silent()

    def _answer(self, sender: int, ping: ContactPing) -> ContactPong:
        self.hear(sender, ping.identifier)
        return ContactPong(self.me.identifier)

    def _knock(self, bucket: KBucket, newcomer: KnownContact) -> None:
        """Find a place for a newcomer to a full bucket: that of a stale contact, or of one that is silent."""
        stale = bucket.stale(self._parameters.failures)
        if stale is not None:
            self._replace(stale, newcomer)
        elif self._parameters.full_bucket == "cache":
            bucket.remember(newcomer, self.k)
        else:
            first = bucket.least_recently_seen()
            questionable = first.heard + self._parameters.questionable <= self._environment.now
            if questionable and not bucket.pinging:
                bucket.pinging = True
                self.ping(
                    first.contact.peer,
                    partial(self._stays, bucket),
                    partial(self._gives_way, bucket, first, newcomer),
                )

    def _stays(self, bucket: KBucket) -> None:
        bucket.pinging = False

    def _gives_way(self, bucket: KBucket, first: KnownContact, newcomer: KnownContact) -> None:
        bucket.pinging = False
        if self.table.get(first.contact.peer) is first and self.table.get(newcomer.contact.peer) is None:
            self._replace(first, newcomer)

    def _replace(self, known: KnownContact, newcomer: KnownContact) -> None:
        self._remove(known)
        self._add(self.table.bucket_for(newcomer.contact.identifier), newcomer)

    def _add(self, bucket: KBucket, known: KnownContact) -> None:
        self.table.add(bucket, known)
        self._changed(known.contact)

    def _remove(self, known: KnownContact) -> None:
        self.table.remove(known)
        self._changed(known.contact)
