"""Messages of applications on their way to the successors of their keys.

Recursively, each peer passes a message on to the closest preceding node; iteratively, its origin searches for
the successor and sends the message straight there (ToN 2003, section VI.A). The predecessor of a key decides
which peer its successor is. Each hop is acknowledged, and a message goes around a peer that is silent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from emulator.compact.number_sets import LARGEST
from emulator.contract.protocol import Contact, Environment, Message
from emulator.contract.recent import RecentNumbers
from emulator.protocols.overlays.chord.find_successor import MOST_STEPS, Search, Searches
from emulator.protocols.overlays.chord.parameters import ChordParameters
from emulator.protocols.overlays.chord.state import RingState
from emulator.protocols.overlays.held_messages import HeldMessages
from trellis.v1.chord import Forwarded, Taken

_MEMORY: Final = 30.0
"""The least seconds for which a peer remembers the messages that ended here."""
_SESSION: Final = 1 << 20
"""The count of message numbers that each session has for itself."""
_TAKEN: Final = Taken()
_REFUSED: Final = Taken(refused=True)


class _Passage:
    """A message at this peer, which may have to go around silent peers."""

    __slots__ = ("allowed", "avoided", "came", "message", "origin", "search")

    def __init__(self, came: Forwarded, message: Message, origin: Contact) -> None:
        self.came = came
        self.message = message
        self.origin = origin
        self.allowed = False
        """This is true once the application has let the message go on from this peer."""
        self.avoided: list[int] = []
        self.search: Search | None = None
        """The search by which the origin found the next hop, if it did so itself."""


class Forwarding:
    """The part of one peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: ChordParameters,
        state: RingState,
        searches: Searches,
        *,
        forward: Callable[[int, Message, int, int], bool],
        deliver: Callable[[int, Message, Contact, int], None],
        silent: Callable[[int, bool], None],
    ) -> None:
        """`forward(key, message, next hop, hops)` is asked whether the message may go on.

        `deliver(key, message, origin, hops)` takes it at the key's successor. `silent(peer, for an
        application)` is told each time-out.
        """
        self._environment = environment
        self._timeout = parameters.timeout
        self._retries = parameters.retries
        self._iterative = parameters.lookups == "iterative"
        self._state = state
        self._searches = searches
        self._forward = forward
        self._deliver = deliver
        self._silent = silent
        # A peer that comes back must not repeat the numbers of its last session.
        self._sequence = environment.session * _SESSION
        self._held = HeldMessages(environment)
        self._ended = RecentNumbers(environment, _MEMORY)
        environment.serve(Forwarded, self._on_forwarded)

    def route(self, key: int, message: Message) -> None:
        """Send this peer's own message towards the key."""
        self._sequence += 1
        me = self._state.me
        passage = _Passage(Forwarded(key, me, 0, message, self._sequence), message, me)
        if self._state.ready:
            self._begin(passage)
        else:
            self._held.hold(partial(self._begin_if_ready, passage))

    def release(self) -> None:
        """Send what this peer kept while it was on no ring."""
        self._held.release()

    def _begin_if_ready(self, passage: _Passage) -> None:
        if self._state.ready:
            self._begin(passage)

    def _begin(self, passage: _Passage) -> None:
        if not self._iterative or self._state.is_home(passage.came.key):
            self._pass_on(passage)
            return
        search = Search(
            passage.came.key,
            lambda search, successor: self._send_straight(passage, search, successor),
            lambda: self._environment.drop(Forwarded, "its search failed"),
        )
        search.control = True
        passage.search = search
        self._searches.find(search)

    def _send_straight(self, passage: _Passage, search: Search, successor: Contact) -> None:
        """Send a message to the successor that its origin has found."""
        hops = len(search.path) + 1
        if successor.peer == self._state.me.peer:
            self._arrive(passage, hops - 1)
        elif self._may_go_on(passage, successor.peer):
            self._send(passage, successor.peer, hops, at_successor=True)

    def _on_forwarded(self, sender: int, forwarded: Forwarded) -> Taken:
        message, origin = forwarded.message, forwarded.origin
        if message is None or origin is None:
            self._environment.drop(Forwarded, "it lacks a part")
            return _TAKEN
        if not self._state.ready:
            return _REFUSED
        passage = _Passage(forwarded, message, origin)
        if forwarded.at_successor:
            self._arrive(passage, forwarded.hops)
        else:
            self._pass_on(passage)
        return _TAKEN

    def _pass_on(self, passage: _Passage) -> None:
        came = passage.came
        step = self._state.next_step(came.key, passage.avoided)
        if self._state.is_home(came.key):
            self._arrive(passage, came.hops)
        elif step is None or came.hops >= MOST_STEPS:
            self._environment.drop(
                Forwarded, "no successor is left" if step is None else "it went too many hops"
            )
        elif self._may_go_on(passage, step.contact.peer):
            self._send(passage, step.contact.peer, came.hops + 1, at_successor=step.is_successor)

    def _may_go_on(self, passage: _Passage, next_hop: int) -> bool:
        """Ask the application once whether the message may go on, however many peers are silent."""
        came = passage.came
        passage.allowed = passage.allowed or self._forward(came.key, passage.message, next_hop, came.hops)
        return passage.allowed

    def _send(self, passage: _Passage, peer: int, hops: int, *, at_successor: bool, tries: int = 0) -> None:
        came = passage.came
        self._environment.request(
            peer,
            Forwarded(came.key, came.origin, hops, passage.message, came.sequence, at_successor),
            self._timeout,
            partial(self._on_taken, passage, peer),
            partial(self._on_silence, passage, peer, hops, at_successor, tries),
        )

    def _on_taken(self, passage: _Passage, peer: int, reply: Message) -> None:
        if not isinstance(reply, Taken):
            self._environment.drop(type(reply), "it answers something else")
            self._go_around(passage, peer)
        elif reply.refused:
            self._go_around(passage, peer)

    def _on_silence(self, passage: _Passage, peer: int, hops: int, at_successor: bool, tries: int) -> None:
        """Go around a silent peer. A message to its key's successor is first sent again."""
        given_up = passage.search is None and not self._state.successors.has(peer)
        if at_successor and tries < self._retries and not given_up and self._state.ready:
            self._send(passage, peer, hops, at_successor=True, tries=tries + 1)
            return
        self._silent(peer, True)
        self._go_around(passage, peer)

    def _go_around(self, passage: _Passage, peer: int) -> None:
        if not self._state.ready:
            self._environment.drop(Forwarded, "this peer has lost its ring")
        elif passage.search is not None:
            self._searches.go_around(passage.search, peer)
        else:
            passage.avoided.append(peer)
            self._pass_on(passage)

    def _arrive(self, passage: _Passage, hops: int) -> None:
        """Deliver a message, unless it has arrived before by another way."""
        if self._ended.add((passage.origin.peer << 32 | passage.came.sequence) & LARGEST):
            self._deliver(passage.came.key, passage.message, passage.origin, hops)
