"""Joining: a peer finds its predecessor and takes over that peer's successor list (Zave 2017).

The papers' `join` only finds the successor. A peer that asks another one that is on no ring is told so; the
bootstrap service then names others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from emulator.contract.protocol import Contact, Environment, Timer
from emulator.protocols.overlays.chord.find_successor import Search, Searches
from emulator.protocols.overlays.chord.parameters import ChordParameters
from emulator.protocols.overlays.chord.state import RingState

_LONELY: Final = 3
"""A peer may begin a ring after so many attempts in which it found nobody on one."""


class Join:
    """The part of one peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: ChordParameters,
        state: RingState,
        joined: Callable[[], None],
    ) -> None:
        """`joined` is called when this peer is on a ring."""
        self._environment = environment
        self._timeout = parameters.join_timeout
        self._state = state
        self._joined = joined
        self._searches: Searches | None = None
        self._contacts: list[int] = []
        self._in_vain = 0
        self._timer: Timer | None = None

    def search_by(self, searches: Searches) -> None:
        """Search by these, which in turn ask this part about peers that are lonely."""
        self._searches = searches

    def start(self, contacts: Sequence[int]) -> None:
        """Join the ring of one of these peers; create one if there are none."""
        if self._state.ready:
            return
        if not contacts:
            self._create()
            return
        self._contacts = [*contacts]
        self._environment.random.shuffle(self._contacts)
        self._try_next()

    def again(self) -> None:
        """Ask the bootstrap service for peers to join by."""
        self._environment.find_contacts(self.start)

    def lonely(self, sender: int, in_vain: int) -> bool:
        """Create a ring if this peer and the sender have long tried in vain and only find each other.

        Returns whether it did.
        """
        if self._in_vain <= _LONELY or in_vain <= _LONELY or self._state.me.peer > sender:
            return False
        self._create()
        return True

    def _create(self) -> None:
        self._in_vain = 0
        self._state.ready = True
        self._joined()

    def _try_next(self) -> None:
        if self._state.ready or self._searches is None:
            return
        if not self._contacts:
            self._in_vain += 1
            self._timer = self._environment.set_timer(self._timeout, self.again)
            return
        search = Search(self._state.me.identifier, self._found, self._try_next)
        search.control = search.joining = True
        search.in_vain = self._in_vain
        self._searches.find_from(Contact(self._contacts.pop(), 0), search)

    def _found(self, search: Search, successor: Contact) -> None:
        """Take over the successor list of the predecessor, which in a small ring ends with that peer."""
        state = self._state
        if state.ready:
            return
        predecessor = search.path[-1]
        others = [contact for contact in search.successors if contact.peer != state.me.peer]
        state.successors.take([*others, predecessor])
        state.precede(predecessor)
        self._in_vain = 0
        state.ready = True
        state.change()
        self._joined()
