"""Node lookups: find the k closest peers to a key, with several requests under way at once (section 2.3)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from emulator.contract.protocol import Contact, Environment, Message
from emulator.protocols.overlays.kademlia.known_contacts import KnownContacts
from emulator.protocols.overlays.kademlia.parameters import KademliaParameters
from trellis.v1.kademlia import FindNode, FindValue, FoundNodes, FoundValue

_HEARD_OF: Final = 0
_ASKED: Final = 1
_ANSWERED: Final = 2
_FAILED: Final = 3


class Candidate:
    """A peer that a lookup has heard of."""

    __slots__ = ("contact", "depth", "state")

    def __init__(self, contact: Contact, depth: int) -> None:
        self.contact = contact
        self.depth = depth
        """1 for a contact of the peer that looks up, otherwise one more than that of the peer which named it
        first."""
        self.state = _HEARD_OF


class NodeLookup:
    """One lookup."""

    __slots__ = (
        "_candidates",
        "_order",
        "answers",
        "began",
        "control",
        "ended",
        "for_application",
        "key",
        "least",
        "over",
        "requests",
        "under_way",
        "value_found",
    )

    def __init__(
        self,
        key: int,
        ended: Callable[[NodeLookup], None],
        *,
        control: bool = False,
        for_application: bool = False,
        value_found: Callable[[NodeLookup, Candidate, FoundValue], None] | None = None,
    ) -> None:
        """`ended(lookup)` is called at its end. `control` says whether a join or an application needs it.

        With `value_found` it asks for the value of the key, and ends at the first peer that has it by a call
        of `value_found(lookup, candidate, reply)` instead (FIND_VALUE).
        """
        self.key = key
        self.ended = ended
        self.value_found = value_found
        self.control = control
        self.for_application = for_application
        self.began = 0.0
        self.over = False
        self.requests = 0
        """The requests that were sent, repetitions included."""
        self.answers = 0
        self.under_way = 0
        """The peers that were asked and have neither answered nor failed."""
        self.least = -1
        """The distance of the closest peer that was heard of before the present round."""
        self._candidates: dict[int, Candidate] = {}
        self._order: list[tuple[int, int]] = []
        """All candidates, as (distance, peer), the closest first."""

    def add(self, contact: Contact, depth: int) -> None:
        """Add a candidate, unless it is known."""
        if contact.peer not in self._candidates:
            self._candidates[contact.peer] = Candidate(contact, depth)
            insort(self._order, (contact.identifier ^ self.key, contact.peer))

    def closest(self, count: int) -> list[Candidate]:
        """Return the closest candidates that have not failed, up to `count`."""
        found: list[Candidate] = []
        for candidate in self._live():
            if len(found) == count:
                break
            found.append(candidate)
        return found

    def closest_without_value(self) -> Candidate | None:
        """Return the closest candidate that has answered without the value, None if there is none."""
        for candidate in self._live():
            if candidate.state == _ANSWERED:
                return candidate
        return None

    def closest_distance(self) -> int:
        """Return the distance of the closest candidate that has not failed; -1 if there is none."""
        for candidate in self._live():
            return candidate.contact.identifier ^ self.key
        return -1

    def _live(self) -> Iterator[Candidate]:
        for _, peer in self._order:
            candidate = self._candidates[peer]
            if candidate.state != _FAILED:
                yield candidate


class NodeLookups:
    """The lookups of one peer, and its answers to those of others."""

    def __init__(
        self,
        environment: Environment,
        parameters: KademliaParameters,
        known: KnownContacts,
        silent: Callable[[int], None],
    ) -> None:
        """`silent(peer)` is told of each request of a lookup for an application that failed."""
        self._environment = environment
        self._known = known
        self._silent = silent
        self._k = parameters.k
        self._alpha = parameters.alpha
        self._ends = parameters.ends
        self._needed = min(parameters.beta, parameters.k) if parameters.ends == "beta" else parameters.k
        self._timeout = parameters.timeout
        self._retries = parameters.retries
        environment.serve(FindNode, self._answer)

    def begin(self, lookup: NodeLookup) -> None:
        """Begin a lookup with the closest contacts. Without any, it ends at once."""
        lookup.began = self._environment.now
        for contact in self._known.closest(lookup.key, self._k):
            lookup.add(contact, 1)
        self._go_on(lookup)

    def _go_on(self, lookup: NodeLookup) -> None:
        """End the lookup if it has found what it needs, otherwise ask the next peers."""
        closest = lookup.closest(self._k)
        if all(candidate.state == _ANSWERED for candidate in closest[: self._needed]):
            self._end(lookup)
            return
        if self._ends in ("loose", "beta"):
            window = self._alpha - lookup.under_way
        elif lookup.under_way:
            return
        else:
            window = self._alpha
            if self._ends == "all" and lookup.closest_distance() == lookup.least:
                window = self._k
            lookup.least = lookup.closest_distance()
        for candidate in closest:
            if window <= 0:
                break
            if candidate.state == _HEARD_OF:
                window -= 1
                candidate.state = _ASKED
                lookup.under_way += 1
                self._ask(lookup, candidate, self._retries)

    def _ask(self, lookup: NodeLookup, candidate: Candidate, retries: int) -> None:
        lookup.requests += 1
        me = self._known.me.identifier
        if lookup.value_found is None:
            question: Message = FindNode(lookup.key, me, lookup.control)
        else:
            question = FindValue(lookup.key, me)
        self._environment.request(
            candidate.contact.peer,
            question,
            self._timeout,
            partial(self._on_reply, lookup, candidate),
            partial(self._on_silence, lookup, candidate, retries),
        )

    def _on_reply(self, lookup: NodeLookup, candidate: Candidate, reply: Message) -> None:
        if isinstance(reply, FoundValue) and lookup.value_found is not None and _is_of(lookup.key, reply):
            self._on_value(lookup, candidate, reply)
            return
        if not isinstance(reply, FoundNodes):
            self._environment.drop(type(reply), "it answers something else")
            self._on_failure(lookup, candidate)
            return
        self._known.hear(candidate.contact.peer, reply.identifier)
        candidate.state = _ANSWERED
        lookup.under_way -= 1
        lookup.answers += 1
        if lookup.over:
            return
        for contact in reply.nodes[: self._k]:
            if contact.peer != self._known.me.peer and self._known.may_be_asked(contact.peer):
                lookup.add(contact, candidate.depth + 1)
        self._go_on(lookup)

    def _on_value(self, lookup: NodeLookup, candidate: Candidate, reply: FoundValue) -> None:
        self._known.hear(candidate.contact.peer, reply.identifier)
        lookup.under_way -= 1
        lookup.answers += 1
        if not lookup.over and lookup.value_found is not None:
            self._close(lookup)
            lookup.value_found(lookup, candidate, reply)

    def _on_silence(self, lookup: NodeLookup, candidate: Candidate, retries: int) -> None:
        if retries and self._known.may_be_asked(candidate.contact.peer):
            if not lookup.over:
                self._ask(lookup, candidate, retries - 1)
            return
        if lookup.for_application:
            self._silent(candidate.contact.peer)
        self._on_failure(lookup, candidate)

    def _on_failure(self, lookup: NodeLookup, candidate: Candidate) -> None:
        self._known.fail(candidate.contact.peer)
        candidate.state = _FAILED
        lookup.under_way -= 1
        if not lookup.over:
            self._go_on(lookup)

    def _end(self, lookup: NodeLookup) -> None:
        self._close(lookup)
        lookup.ended(lookup)

    def _close(self, lookup: NodeLookup) -> None:
        lookup.over = True
        self._known.table.bucket_of(lookup.key).looked_up = self._environment.now

    def _answer(self, sender: int, question: FindNode) -> FoundNodes:
        self._known.hear(sender, question.identifier)
        return self.nodes_for(sender, question.key, question.control)

    def nodes_for(self, sender: int, key: int, control: bool) -> FoundNodes:
        """Return the answer to a peer that asks for the closest contacts to a key."""
        nodes = self._known.closest(key, self._k, sender)
        return FoundNodes(self._known.me.identifier, nodes, control)


def _is_of(key: int, reply: FoundValue) -> bool:
    """Return whether a reply has a value, which is that of the key."""
    return reply.value is not None and reply.value.key == key
