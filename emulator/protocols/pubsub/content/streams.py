"""Reliable streams of changes of a set of boxes to one peer: in order, without loss or repetition.

One update is on its way at a time, and is sent again until the peer answers it. Changes that happen meanwhile
wait and are summed up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.contract.protocol import Environment, Message
from emulator.protocols.pubsub.content.space import Box, box_of, filter_of
from trellis.v1.filters import FilterAnswer, FilterUpdate

_MOST: Final = 1000
"""The most boxes in one update."""


class BoxStream:
    """The stream of changes to one table of one peer."""

    def __init__(
        self,
        environment: Environment,
        peer: int,
        table: tuple[int, int],
        number: int,
        refused: Callable[[], None],
        gathering: float,
        patience: float,
    ) -> None:
        """`table` is (epoch, tree); a later stream to the same table has a greater `number`.

        Changes wait `gathering` seconds for others. An update without an answer is sent again after
        `patience` seconds; `refused()` hears that the peer does not know the table.
        """
        self._environment = environment
        self._peer = peer
        self._table = table
        self._number = number
        self._refused = refused
        self._gathering = gathering
        self._patience = patience
        self._sequence = 0
        self._pending: dict[Box, bool] = {}
        self._waiting = False
        self._on_its_way: FilterUpdate | None = None
        self._ended = False

    def change(self, box: Box, there: bool) -> None:
        """Tell that `box` is there or is gone."""
        if self._pending.get(box) is (not there):
            del self._pending[box]
        else:
            self._pending[box] = there
        self.begin()

    def begin(self) -> None:
        """Send an update soon, even if there is no change to tell."""
        if not self._waiting and self._on_its_way is None and not self._ended:
            self._waiting = True
            self._environment.set_timer(self._gathering, self._send)

    def end(self) -> None:
        """Send nothing any more."""
        self._ended = True

    @property
    def settled(self) -> bool:
        """Whether the peer has acknowledged all changes."""
        return not self._pending and not self._waiting and self._on_its_way is None

    def _send(self) -> None:
        self._waiting = False
        if self._ended or self._on_its_way is not None or not (self._pending or self._sequence == 0):
            return
        some = list(self._pending)[:_MOST]
        gone = [filter_of(box) for box in some if not self._pending[box]]
        added = [filter_of(box) for box in some if self._pending[box]]
        for box in some:
            del self._pending[box]
        epoch, tree = self._table
        self._on_its_way = FilterUpdate(epoch, tree, self._number, self._sequence, gone, added)
        self._try()

    def _try(self) -> None:
        update = self._on_its_way
        if update is not None and not self._ended:
            self._environment.request(self._peer, update, self._patience, self._answered, self._try)

    def _answered(self, answer: Message) -> None:
        if self._ended:
            return
        self._on_its_way = None
        if not isinstance(answer, FilterAnswer) or not answer.known:
            if not isinstance(answer, FilterAnswer):
                self._environment.drop(type(answer), "it answers something else")
            self._ended = True
            self._refused()
            return
        self._sequence += 1
        if self._pending:
            self._send()


class Inflow:
    """The receiver's end of the streams from one peer to one table."""

    __slots__ = ("_next", "_number")

    def __init__(self) -> None:
        self._number = -1
        self._next = 0

    @property
    def heard(self) -> bool:
        """Whether any update came by the latest stream."""
        return self._next > 0

    def take(
        self,
        update: FilterUpdate,
        clear: Callable[[], None],
        add: Callable[[Box], None],
        remove: Callable[[Box], None],
    ) -> bool:
        """Apply an update unless it came before. Returns False if updates before it are missing here."""
        if update.stream < self._number:
            return True
        if update.stream > self._number:
            if update.sequence:
                return False
            self._number = update.stream
            self._next = 0
            clear()
        if update.sequence != self._next:
            return update.sequence < self._next
        self._next += 1
        for message in update.gone:
            remove(box_of(message))
        for message in update.added:
            add(box_of(message))
        return True
