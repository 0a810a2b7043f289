"""`find_successor`, iteratively: the peer that searches asks one peer after the other for the next one.

A peer that does not answer within the time-out is avoided from then on, and the peer that named it is asked
for its next best one (ToN 2003, section IV.E.3).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from emulator.contract.protocol import Contact, Environment, Message
from emulator.protocols.overlays.chord.intervals import between, up_to
from emulator.protocols.overlays.chord.parameters import ChordParameters
from emulator.protocols.overlays.chord.state import RingState
from trellis.v1.chord import FindSuccessor, NextNode

MOST_STEPS: Final = 100
"""A search ends after this many questions, because peers that disagree might send it round for ever."""
_MOST_AVOIDED: Final = 64
"""The most silent peers that a question names; a search that met more has failed."""


class Search:
    """One search for the successor of a key."""

    __slots__ = (
        "avoided",
        "control",
        "failed",
        "found",
        "in_vain",
        "joining",
        "key",
        "path",
        "steps",
        "successors",
    )

    def __init__(
        self, key: int, found: Callable[[Search, Contact], None], failed: Callable[[], None]
    ) -> None:
        """`found(search, successor)` is called at its end, or else `failed`."""
        self.key = key
        self.found = found
        self.failed = failed
        self.path: list[Contact] = []
        """The peers that were asked, the last one at the end. The peer that searches is not among them."""
        self.avoided: list[int] = []
        """The peers that were silent."""
        self.successors: list[Contact] = []
        """The answer of the key's predecessor, the last peer of the path: the key's successor, and those
        after it if the search is for a join."""
        self.steps = 0
        self.control = False
        """This is true if a join or an application needs the search; finger searches are maintenance."""
        self.joining = False
        """This is true if the peer searches for its own place."""
        self.in_vain = 0
        """The attempts to join so far."""


class Searches:
    """The searches of one peer, and its answers to those of others."""

    def __init__(
        self,
        environment: Environment,
        parameters: ChordParameters,
        state: RingState,
        *,
        silent: Callable[[int, bool], None],
        lonely: Callable[[int, int], bool],
    ) -> None:
        """`silent(peer, for an application)` is told each time-out.

        `lonely(peer, attempts)` is asked while this peer is on no ring and another one, which is not either,
        asks it; it returns whether this peer has begun a ring now.
        """
        self._environment = environment
        self._timeout = parameters.timeout
        self._state = state
        self._silent = silent
        self._lonely = lonely
        environment.serve(FindSuccessor, self._answer)

    def find(self, search: Search) -> None:
        """Begin a search at this peer."""
        self._go_on(search)

    def find_from(self, contact: Contact, search: Search) -> None:
        """Begin a search at another peer, because this one is on no ring."""
        search.path.append(contact)
        self._ask(search)

    def go_around(self, search: Search, peer: int) -> None:
        """Go on with a search whose next peer did not answer."""
        search.avoided.append(peer)
        if search.path:
            self._ask(search)
        else:
            self._go_on(search)

    def _go_on(self, search: Search) -> None:
        """Take the first step from what this peer knows itself."""
        step = self._state.next_step(search.key, search.avoided)
        if not self._state.ready or (step is None and len(self._state.successors)):
            search.failed()
        elif step is None:
            search.found(search, self._state.me)
        elif step.is_successor:
            search.found(search, step.contact)
        else:
            search.path.append(step.contact)
            self._ask(search)

    def _ask(self, search: Search) -> None:
        search.steps += 1
        if search.steps > MOST_STEPS or len(search.avoided) > _MOST_AVOIDED:
            search.failed()
            return
        question = FindSuccessor(
            search.key, [*search.avoided], search.control, search.joining, search.in_vain
        )
        self._environment.request(
            search.path[-1].peer,
            question,
            self._timeout,
            partial(self._on_reply, search),
            partial(self._on_silence, search),
        )

    def _on_reply(self, search: Search, reply: Message) -> None:
        if not isinstance(reply, NextNode):
            self._environment.drop(type(reply), "it answers something else")
            self._give_up_last(search)
            return
        asked = search.path[-1] = Contact(search.path[-1].peer, reply.identifier)
        if not reply.nodes:
            self._give_up_last(search)
            return
        if not self._is_sound(search, asked, reply):
            self._environment.drop(NextNode, "it leads away from the key")
            self._give_up_last(search)
        elif reply.is_predecessor:
            search.successors = reply.nodes
            search.found(search, reply.nodes[0])
        else:
            search.path.append(reply.nodes[0])
            self._ask(search)

    def _is_sound(self, search: Search, asked: Contact, reply: NextNode) -> bool:
        """Return whether the node that was named is the key's successor, or nearer to it, as it claims."""
        node, mask = reply.nodes[0], self._state.mask
        if node.peer in search.avoided:
            return False
        if reply.is_predecessor:
            return up_to(asked.identifier, search.key, node.identifier, mask)
        return between(asked.identifier, node.identifier, search.key, mask)

    def _on_silence(self, search: Search) -> None:
        self._silent(search.path[-1].peer, search.control and not search.joining)
        self._give_up_last(search)

    def _give_up_last(self, search: Search) -> None:
        """Avoid the peer that was asked last, and go back to the one before it."""
        peer = search.path.pop().peer
        if search.joining and not search.path:
            search.failed()
        else:
            self.go_around(search, peer)

    def _answer(self, sender: int, question: FindSuccessor) -> NextNode:
        state = self._state
        joined = state.ready or (question.joining and self._lonely(sender, question.in_vain))
        answer = NextNode(state.me.identifier, False, [], question.control)
        if not joined:
            return answer
        step = state.next_step(question.key, question.avoided)
        if step is None and not len(state.successors):
            answer = NextNode(state.me.identifier, True, [state.me], question.control)
        elif step is not None:
            nodes = [step.contact]
            if question.joining and step.is_successor:
                nodes = state.successors.after(step.contact)
            answer = NextNode(state.me.identifier, step.is_successor, nodes, question.control)
        return answer
