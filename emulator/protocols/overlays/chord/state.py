"""The state of one peer: its predecessor, successor list and finger table, and where keys lead from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from emulator.contract.identifiers import IdentifierSpace
from emulator.protocols.overlays.chord.finger_table import FingerTable
from emulator.protocols.overlays.chord.intervals import up_to
from emulator.protocols.overlays.chord.parameters import ChordParameters
from emulator.protocols.overlays.chord.preceding_nodes import PrecedingNodes
from emulator.protocols.overlays.chord.successor_list import SuccessorList
from trellis.v1.overlay import Contact


class NextStep(NamedTuple):
    """Where the search for a key goes on from a peer."""

    contact: Contact
    is_successor: bool
    """This is true if the peer takes the contact for the successor of the key."""


class RingState:
    """What one peer knows of the ring."""

    def __init__(
        self,
        me: Contact,
        space: IdentifierSpace,
        parameters: ChordParameters,
        changed: Callable[[], None],
        lost: Callable[[], None],
    ) -> None:
        """`me` is this peer as others are to know it.

        `changed` is called whenever any of the peers here changes, `lost` when no successor is left.
        """
        self.me = me
        self.mask = space.mask
        self.bits = space.bits
        self.ready = False
        """Whether this peer has joined a ring."""
        self.predecessor: Contact | None = None
        self.successors = SuccessorList(me, space.mask, parameters.successors)
        self.fingers = FingerTable(me, space.mask)
        self._search_successors = parameters.search == "fingers and successors"
        self._nodes = PrecedingNodes(me.identifier, space.mask)
        self._stale = False
        self._changed = changed
        self._lost = lost

    def clear(self) -> None:
        """Forget the ring, because this peer is on none."""
        self.ready = False
        self.predecessor = None
        self.successors.take([])
        self.fingers = FingerTable(self.me, self.mask)
        self.change()

    def precede(self, contact: Contact | None) -> None:
        """Take this predecessor, or none."""
        known = self.predecessor
        self.predecessor = contact
        if (known is None) != (contact is None) or (
            known is not None and contact is not None and known.peer != contact.peer
        ):
            self.change()

    def adopt(self, successor: Contact, onward: Sequence[Contact]) -> None:
        """Take over a successor and its list."""
        if self.successors.adopt(successor, onward):
            self.change()

    def put_finger(self, exponent: int, contact: Contact) -> None:
        """Set a finger that was looked up."""
        if self.fingers.put(exponent, contact):
            self.change()

    def forget_fingers_up_to(self, successor: Contact) -> None:
        """Forget the fingers that are the successor by definition."""
        if self.fingers.forget_up_to(successor):
            self.change()

    def extend(self, contact: Contact) -> None:
        """Add a last successor, if there is room and it follows the others."""
        if self.successors.append(contact):
            self.change()

    def drop(self, peer: int) -> None:
        """Drop a peer from the successor list and the fingers."""
        was_successor = self.successors.drop(peer)
        if self.fingers.drop(peer) or was_successor:
            self.change()
        if was_successor and not len(self.successors):
            self._lost()

    def is_home(self, key: int) -> bool:
        """Return whether this peer is the successor of the key, as far as it knows itself.

        A peer without a predecessor cannot tell, unless it is alone or the key is its own identifier.
        """
        if key == self.me.identifier:
            return True
        if self.predecessor is None:
            return not len(self.successors)
        return up_to(self.predecessor.identifier, key, self.me.identifier, self.mask)

    def next_step(self, key: int, avoided: Sequence[int] = ()) -> NextStep | None:
        """Return where the search for a key goes on (`find_successor` of ToN 2003, figure 5).

        Peers in `avoided` count as failed. Returns None if all known successors are among them.
        """
        successor = self.successors.first_without(avoided)
        if successor is None:
            return None
        if up_to(self.me.identifier, key, successor.identifier, self.mask):
            return NextStep(successor, True)
        if self._stale:
            self._stale = False
            within = [*self.successors] if self._search_successors else [*self.successors][:1]
            self._nodes.rebuild([*self.fingers, *within])
        return NextStep(self._nodes.closest_preceding_node(key, avoided) or successor, False)

    def change(self) -> None:
        """Note that the peers that this one knows have changed."""
        self._stale = True
        self._changed()
