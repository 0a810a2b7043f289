"""`fix_fingers`: looks fingers up again (ToN 2003, section IV.E.1; SIGCOMM 2001, sections 4.3 and 4.4)."""

from __future__ import annotations

from collections.abc import Callable

from emulator.contract.draws import below
from emulator.contract.protocol import Contact, Environment
from emulator.protocols.overlays.chord.find_successor import Search, Searches
from emulator.protocols.overlays.chord.intervals import up_to
from emulator.protocols.overlays.chord.parameters import ChordParameters
from emulator.protocols.overlays.chord.state import RingState


class FixFingers:
    """The part of one peer."""

    def __init__(
        self, environment: Environment, parameters: ChordParameters, state: RingState, searches: Searches
    ) -> None:
        self._environment = environment
        self._which = parameters.fix_fingers
        self._state = state
        self._searches = searches
        self._next = -1
        """The exponent of the finger that was fixed last, in turn."""
        self._fixing_all = False

    def round(self) -> None:
        """Fix as many fingers as a stabilisation does."""
        successor = self._state.successors.first
        if not self._state.ready or successor is None:
            return
        self._state.forget_fingers_up_to(successor)
        if self._which == "all":
            self.fix_all()
        elif self._which == "round-robin":
            self._next = (self._next + 1) % self._state.bits
            if self._next >= self._state.fingers.first_beyond(successor):
                self._fix(self._next)
        else:
            least = self._state.fingers.first_beyond(successor)
            if least < self._state.bits:
                self._fix(least + below(self._environment.random, self._state.bits - least))

    def fix_all(self) -> None:
        """Fix all fingers beyond the successor, one after the other, unless this is under way."""
        successor = self._state.successors.first
        if successor is not None and not self._fixing_all:
            self._fixing_all = True
            self._fix_from(self._state.fingers.first_beyond(successor))

    def _fix(self, exponent: int) -> None:
        self._look_up(exponent, lambda contact: self._state.put_finger(exponent, contact), _nothing)

    def _fix_from(self, exponent: int) -> None:
        """Fix this finger and those after it. A finger that reaches beyond the next one's start is that one
        too."""
        if exponent >= self._state.bits or not self._state.ready:
            self._fixing_all = False
            return

        def found(contact: Contact) -> None:
            following = exponent
            own, fingers = self._state.me.identifier, self._state.fingers
            while following < self._state.bits and up_to(
                own, fingers.start(following), contact.identifier, self._state.mask
            ):
                self._state.put_finger(following, contact)
                following += 1
            self._fix_from(max(following, exponent + 1))

        self._look_up(exponent, found, lambda: self._fix_from(exponent + 1))

    def _look_up(self, exponent: int, found: Callable[[Contact], None], failed: Callable[[], None]) -> None:
        start = self._state.fingers.start(exponent)
        self._searches.find(Search(start, lambda search, contact: found(contact), failed))


def _nothing() -> None:
    """Do nothing about a finger that was not found: it is looked up another time."""
