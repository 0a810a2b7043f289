"""Stabilisation of the ring, by the operations that Zave proved correct.

`stabilize` asks the successor, and then a better one that it names; `rectify` takes the place of `notify`
(Zave: Reasoning about identifier spaces: How to make Chord correct, 2017). Finger tables need neither.
"""

from __future__ import annotations

from collections.abc import Callable

from emulator.contract.protocol import Contact, Environment, Message
from emulator.protocols.overlays.chord.intervals import between
from emulator.protocols.overlays.chord.parameters import ChordParameters
from emulator.protocols.overlays.chord.state import RingState
from trellis.v1.chord import (
    Alive,
    CheckPredecessor,
    NewPredecessor,
    Notify,
    RingDeparture,
    RingNeighbours,
    Stabilize,
)


class Stabilization:
    """The part of one peer: its questions, and its answers to its neighbours."""

    def __init__(
        self,
        environment: Environment,
        parameters: ChordParameters,
        state: RingState,
        *,
        failed: Callable[[int], None],
        left: Callable[[int], None],
    ) -> None:
        """`failed` is told each neighbour that was found silent, `left` each that said that it leaves."""
        self._environment = environment
        self._timeout = parameters.timeout
        self._retries = parameters.retries
        self._rule = parameters.predecessor
        self._eager = parameters.eager
        self._state = state
        self._failed = failed
        self._left = left
        self._stabilizing = False
        """This is true while this peer waits for an answer to `stabilize`."""
        self._again = False
        """This is true if the successor has told of a nearer one meanwhile."""
        self._checking = False
        """This is true while this peer waits for a sign of life of its predecessor."""
        environment.serve(Stabilize, self._describe)
        environment.serve(CheckPredecessor, self._say_alive)
        environment.handle(Notify, self._on_notify)
        environment.handle(NewPredecessor, self._on_new_predecessor)
        environment.handle(RingDeparture, self._on_departure)

    def round(self) -> None:
        """Do what a peer does periodically."""
        self.stabilize()
        predecessor = self._state.predecessor
        if self._rule == "check" and predecessor is not None:
            self._check_predecessor(predecessor, None)

    def stabilize(self) -> None:
        """Ask the successor for its predecessor and its list, unless an answer is under way."""
        state = self._state
        if not len(state.successors) and state.predecessor is not None:
            # A peer that was alone is its own successor, and its predecessor is a better one.
            state.adopt(state.predecessor, [])
        successor = state.successors.first
        if state.ready and successor is not None and not self._stabilizing:
            self._stabilizing = True
            self._again = False
            self._ask(successor, self._retries, self._from_successor, self._successor_failed)

    def leave(self) -> None:
        """Tell the predecessor and the successor that they are neighbours now (ToN 2003, section IV.E.4)."""
        state = self._state
        successor, predecessor = state.successors.first, state.predecessor
        if successor is not None and predecessor is not None:
            last = [*state.successors][-1]
            departure = RingDeparture(predecessor, last)
            for peer in dict.fromkeys((successor.peer, predecessor.peer)):
                self._environment.send(peer, departure)

    def _ask(
        self,
        node: Contact,
        retries: int,
        answered: Callable[[Contact, RingNeighbours], None],
        failed: Callable[[Contact], None],
    ) -> None:
        """Ask a node for its neighbours; without an answer, again so many times."""

        def replied(reply: Message) -> None:
            if isinstance(reply, RingNeighbours) and reply.joined:
                answered(node, reply)
                return
            if not isinstance(reply, RingNeighbours):
                self._environment.drop(type(reply), "it answers something else")
            failed(node)

        def silent() -> None:
            if retries:
                self._ask(node, retries - 1, answered, failed)
            else:
                failed(node)

        self._environment.request(node.peer, Stabilize(), self._timeout, replied, silent)

    def _from_successor(self, successor: Contact, reply: RingNeighbours) -> None:
        first = self._state.successors.first
        if first is not None and first.peer == successor.peer:
            self._consider(successor, reply, go_on=True)
        else:
            # Another one was found, or this one was dropped, while the answer was on its way.
            self._end(None)

    def _from_predecessor(self, better: Contact, reply: RingNeighbours) -> None:
        first = self._state.successors.first
        if first is not None and self._is_between(better, first):
            self._consider(better, reply, go_on=self._eager)
        else:
            self._end(first)

    def _consider(self, successor: Contact, reply: RingNeighbours, *, go_on: bool) -> None:
        """Take over a successor that lives, with its list; ask its predecessor if that is a better one."""
        self._state.adopt(successor, reply.successors)
        better = reply.predecessor
        if go_on and better is not None and self._is_between(better, successor):
            self._ask(better, self._retries, self._from_predecessor, self._better_failed)
        else:
            self._end(successor)

    def _is_between(self, node: Contact, successor: Contact) -> bool:
        state = self._state
        return between(state.me.identifier, node.identifier, successor.identifier, state.mask)

    def _better_failed(self, better: Contact) -> None:
        self._failed(better.peer)
        self._end(self._state.successors.first)

    def _successor_failed(self, successor: Contact) -> None:
        """Drop the successor, and go on with the next one of the list."""
        self._stabilizing = False
        self._failed(successor.peer)
        self._state.drop(successor.peer)
        self.stabilize()

    def _end(self, successor: Contact | None) -> None:
        """Notify the successor, as the last step."""
        self._stabilizing = False
        if successor is not None and self._state.ready:
            self._environment.send(successor.peer, Notify(self._state.me.identifier))
        if self._again:
            self.stabilize()

    def _on_notify(self, sender: int, message: Notify) -> None:
        """Rectify: take the sender for the predecessor if it is nearer, or if the present one has failed."""
        state = self._state
        candidate = Contact(sender, message.identifier)
        if not state.ready or candidate.identifier == state.me.identifier:
            return
        known = state.predecessor
        if known is None or between(known.identifier, candidate.identifier, state.me.identifier, state.mask):
            state.precede(candidate)
            if not len(state.successors):
                state.adopt(candidate, [])
            elif self._eager and known is not None:
                self._environment.send(known.peer, NewPredecessor())
        elif self._rule == "rectify" and known.peer != sender:
            self._check_predecessor(known, candidate)

    def _check_predecessor(self, known: Contact, candidate: Contact | None) -> None:
        """Ask the predecessor whether it lives; `candidate` takes the place of one that does not."""
        if not self._checking:
            self._checking = True
            self._check(known, candidate, self._retries)

    def _check(self, known: Contact, candidate: Contact | None, retries: int) -> None:
        def replied(reply: Message) -> None:
            self._checking = False
            if not isinstance(reply, Alive):
                self._environment.drop(type(reply), "it answers something else")
            elif not reply.joined:
                self._replace(known, candidate)

        def silent() -> None:
            if retries:
                self._check(known, candidate, retries - 1)
            else:
                self._checking = False
                self._replace(known, candidate)

        self._environment.request(known.peer, CheckPredecessor(), self._timeout, replied, silent)

    def _replace(self, failed: Contact, candidate: Contact | None) -> None:
        self._failed(failed.peer)
        present = self._state.predecessor
        if self._state.ready and present is not None and present.peer == failed.peer:
            self._state.precede(candidate)

    def _describe(self, sender: int, message: Stabilize) -> RingNeighbours:
        state = self._state
        if not state.ready:
            return RingNeighbours(False)
        return RingNeighbours(True, state.predecessor, [*state.successors])

    def _say_alive(self, sender: int, message: CheckPredecessor) -> Alive:
        return Alive(self._state.ready)

    def _on_new_predecessor(self, sender: int, message: NewPredecessor) -> None:
        successor = self._state.successors.first
        if successor is not None and successor.peer == sender:
            self._again = self._stabilizing
            self.stabilize()

    def _on_departure(self, sender: int, message: RingDeparture) -> None:
        state = self._state
        if message.predecessor is None or message.last is None:
            self._environment.drop(RingDeparture, "it lacks a part")
            return
        was_predecessor = state.predecessor is not None and state.predecessor.peer == sender
        was_successor = state.successors.first is not None and state.successors.first.peer == sender
        state.drop(sender)
        self._left(sender)
        if was_predecessor:
            other = message.predecessor
            state.precede(None if other.peer == state.me.peer else other)
        if was_successor:
            state.extend(message.last)
        self._environment.report_gone(sender)
