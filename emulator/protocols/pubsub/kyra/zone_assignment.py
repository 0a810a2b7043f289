"""Which server of a clique has which piece of the event space."""

from __future__ import annotations

from emulator.protocols.overlays.cliques.view import View
from emulator.protocols.pubsub.content.space import Values
from emulator.protocols.pubsub.kyra.epoch import Epoch, Piece

Holder = tuple[int, float]
"""A server that has a piece, and since when it is in a clique: one that came back has forgotten all."""


class ZoneAssignment:
    """The pieces of one epoch in this server's clique."""

    def __init__(self, peer: int, epoch: Epoch) -> None:
        self._peer = peer
        self._epoch = epoch
        self.pieces: list[Piece] = []
        self.mates: list[int] = []
        self._since: dict[int, float] = {}

    def update(self, view: View | None) -> None:
        """The clique has other members or shares; without a clique there are no pieces."""
        self.mates = [] if view is None else [peer for peer in view.members if peer != self._peer]
        self._since = {} if view is None else view.since
        self.pieces = [] if view is None else self._epoch.pieces(view.members, view.ends)

    def holder(self, number: int) -> int | None:
        """The member of this clique that has the piece."""
        holder = self.pieces[number].holder if number < len(self.pieces) else None
        return holder if holder == self._peer or holder in self.mates else None

    def holders(self) -> dict[int, Holder]:
        """The pieces that somebody of this clique has, by number."""
        holders = [(number, self.holder(number)) for number in range(len(self.pieces))]
        return {number: (holder, self._since[holder]) for number, holder in holders if holder is not None}

    def number_of(self, values: Values) -> int | None:
        """The piece that an event is in; None while nobody of this clique has it."""
        for number, piece in enumerate(self.pieces):
            if piece.box.has(values) and self.holder(number) is not None:
                return number
        return None

    def tree_of(self, number: int) -> int:
        """The tree for a piece, whoever has it."""
        return number // self._epoch.parts
