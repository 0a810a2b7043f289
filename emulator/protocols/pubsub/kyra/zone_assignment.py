"""The assignment of the pieces of the event space to the servers of a clique."""

from __future__ import annotations

from emulator.protocols.overlays.cliques.view import View
from emulator.protocols.pubsub.content.space import Values
from emulator.protocols.pubsub.kyra.epoch import Epoch, Piece

Holder = tuple[int, float]
"""A server that has a piece, and since when it is in the clique: a server that came back has forgotten all.
"""


class ZoneAssignment:
    """The pieces of one epoch in this server's clique."""

    def __init__(self, peer: int, epoch: Epoch) -> None:
        self._peer = peer
        self._epoch = epoch
        self.pieces: list[Piece] = []
        self.mates: list[int] = []
        self._since: dict[int, float] = {}

    def update(self, view: View | None) -> None:
        """Take in the clique's members and shares. Without a clique there are no pieces."""
        self.mates = [] if view is None else [peer for peer in view.members if peer != self._peer]
        self._since = {} if view is None else view.since
        self.pieces = [] if view is None else self._epoch.pieces(view.members, view.ends)

    def holder(self, number: int) -> int | None:
        """Return the member of this clique that has the piece."""
        holder = self.pieces[number].holder if number < len(self.pieces) else None
        return holder if holder == self._peer or holder in self.mates else None

    def holders(self) -> dict[int, Holder]:
        """Return the holders of those pieces that a member of this clique has, by the piece's number."""
        holders = [(number, self.holder(number)) for number in range(len(self.pieces))]
        return {number: (holder, self._since[holder]) for number, holder in holders if holder is not None}

    def number_of(self, values: Values) -> int | None:
        """Return the piece that an event is in; None while no member of this clique has it."""
        for number, piece in enumerate(self.pieces):
            if piece.box.has(values) and self.holder(number) is not None:
                return number
        return None

    def tree_of(self, number: int) -> int:
        """Return the tree for a piece, whichever server has it."""
        return number // self._epoch.parts
