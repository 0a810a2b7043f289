"""The merge of rings that a partition made, after Shafaat, Ghodsi and Haridi (2007).

A peer keeps a list of peers that it found silent (their passive list). One that answers again may stand on
another ring, where this peer then looks for its own place. Where the neighbours there are nearer than its
own, they become its neighbours, and stabilisation does the rest.
"""

from __future__ import annotations

from typing import Final

from emulator.contract.draws import below
from emulator.contract.protocol import Contact, Environment
from emulator.protocols.overlays.chord.find_successor import Search, Searches
from emulator.protocols.overlays.chord.intervals import between
from emulator.protocols.overlays.chord.parameters import ChordParameters
from emulator.protocols.overlays.chord.state import RingState
from trellis.v1.chord import Notify

_PASSIVE: Final = 64
"""The most silent peers that are remembered; the one that was found silent first makes room."""


class Merging:
    """The part of one peer."""

    def __init__(
        self, environment: Environment, parameters: ChordParameters, state: RingState, searches: Searches
    ) -> None:
        self._environment = environment
        self._merge = parameters.merge
        self._state = state
        self._searches = searches
        self._passive: dict[int, None] = {}
        self._looking = False

    def remember(self, peer: int) -> None:
        """Remember a peer that was found silent."""
        if self._merge:
            self._passive[peer] = None
            if len(self._passive) > _PASSIVE:
                del self._passive[next(iter(self._passive))]

    def forget(self, peer: int) -> None:
        """Forget a peer that has left of its own accord."""
        self._passive.pop(peer, None)

    def round(self) -> None:
        """Look for this peer's place by one of the silent peers."""
        if not self._passive or self._looking or not self._state.ready:
            return
        self._looking = True
        peer = list(self._passive)[below(self._environment.random, len(self._passive))]
        search = Search(
            self._state.me.identifier, lambda search, successor: self._found(peer, search), self._in_vain
        )
        search.control = search.joining = True
        self._searches.find_from(Contact(peer, 0), search)

    def _in_vain(self) -> None:
        self._looking = False

    def _found(self, peer: int, search: Search) -> None:
        """Take the neighbours that were found if they are nearer than the present ones."""
        self._looking = False
        self._passive.pop(peer, None)
        state = self._state
        others = [contact for contact in search.successors if contact.peer != state.me.peer]
        first, mask = state.successors.first, state.mask
        if not state.ready or not others or first is None:
            return
        successor, me = others[0], state.me.identifier
        if between(me, successor.identifier, first.identifier, mask):
            state.adopt(successor, others[1:])
            self._environment.send(successor.peer, Notify(me))
        known, before = state.predecessor, search.path[-1]
        if before.peer != state.me.peer and (
            known is None or between(known.identifier, before.identifier, me, mask)
        ):
            state.precede(before)
