"""The links of one server on one tree: it has a parent, or is the root, and has children.

A child attaches to the first of its candidates that answers, and asks it from time to time whether it is
still there. Candidates lie before a server in an order that all agree on, so there is no cycle, whoever
fails. While servers do not agree yet, a parent's path to the root shows what would be one.

A child that goes over to another parent has both for a short time, until all know what is wanted over the new
link: no event is missed. Those that come over both are routed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from emulator.contract.protocol import Environment, Message, Timer
from trellis.v1.filters import TreeAnswer, TreeAttachment, TreeBeat, TreeDetachment

_SILENT_BEATS: Final = 3.5
"""Beats after which a child that says nothing is given up."""
_BEATS_TO_IMPROVE: Final = 5
"""Beats after which a server asks its best candidate again, if another one is its parent."""
_LONGEST: Final = 100
"""Servers of a path that are told."""
_OVERLAP: Final = 5.0
"""Beats for which a parent is kept after another one took its place: the new one may lose its own."""
_MOST_MISSES: Final = 3
"""Beats in a row without an answer after which a parent is given up."""


class TreeLinks:
    """Parent and children."""

    def __init__(
        self,
        environment: Environment,
        table: tuple[int, int],
        opened: Callable[[int], None],
        closed: Callable[[int], None],
        beat: float,
        patience: float,
    ) -> None:
        """`opened(neighbour)` and `closed(neighbour)` hear of links; `table` is (epoch, tree)."""
        self._environment = environment
        self._table = table
        self._opened = opened
        self._closed = closed
        self._patience = patience
        self._beat = beat
        self.parent: int | None = None
        self.children: dict[int, float] = {}
        """When each was last heard of."""
        self.claims_root = False
        """Whether this server is the root by what it knows, though others may not know yet."""
        self.closing = False
        """Whether this server is about to leave: nobody attaches to it any more."""
        self._formers: dict[int, Timer] = {}
        """Parents before, while they are kept."""
        self._stopped = False
        self._path: list[int] = []
        """From the parent's parent to the root, as the parent told."""
        self._candidates: list[int] = []
        self._trying: int | None = None
        self._request: Timer | None = None
        self._hopes_until = 0.0
        self._misses = 0
        self._beats = 0
        self._timer = environment.every(beat, self._ask)

    @property
    def neighbours(self) -> list[int]:
        return [*([] if self.parent is None else [self.parent]), *self._formers, *self.children]

    @property
    def attached(self) -> bool:
        """Whether this is the root or has a parent."""
        return self.parent is not None or not self._candidates

    @property
    def path(self) -> list[int]:
        """From the parent to the root, as far as it is known."""
        return [] if self.parent is None else [self.parent, *self._path][:_LONGEST]

    def aim(self, candidates: Sequence[int], hope: float = 0.0) -> None:
        """Be the child of one of these, the first if it is there; be the root if there are none.

        A parent that is among them is kept; another one, until a candidate has taken this server. For `hope`
        seconds only the first is asked: servers that start together need not change their parents when all
        are there.
        """
        self._hopes_until = self._environment.now + hope
        self._candidates = list(candidates)
        if not self._candidates:
            self._change_parent(None)
        if self._trying is not None and self._trying not in self._candidates:
            self._stop_trying()
        self._seek()

    def switch(self, parent: int) -> None:
        """Be the child of this candidate instead."""
        self._candidates = [parent, *(other for other in self._candidates if other != parent)]
        if self.parent is None:
            self._stop_trying()
            self._seek()
        elif self.parent != parent and self._trying != parent:
            self._improve(parent)

    def stop(self, graceful: bool) -> None:
        """Be on the tree no more."""
        self._stopped = True
        self._timer.cancel()
        self._stop_trying()
        for timer in self._formers.values():
            timer.cancel()
        if graceful:
            for neighbour in self.neighbours:
                self._environment.send(neighbour, TreeDetachment(*self._table))

    def lose(self, peer: int) -> None:
        """The peer is gone, or says that it is no neighbour."""
        if self.children.pop(peer, None) is not None:
            self._closed(peer)
        if self._forget_former(peer):
            self._closed(peer)
        if peer == self.parent:
            self.parent = None
            self._closed(peer)
            self._seek()

    def on_attachment(self, child: int) -> TreeAnswer:
        """A peer asks to be a child."""
        if self.closing:
            return TreeAnswer(False)
        if child in self.path:
            if not self.claims_root:
                return TreeAnswer(False)
            self.aim([])
        self._forget_former(child)
        self.children[child] = self._environment.now
        self._opened(child)
        return TreeAnswer(True, self.path)

    def on_beat(self, child: int) -> TreeAnswer:
        """A child asks whether it is one."""
        if child not in self.children:
            return TreeAnswer(False)
        self.children[child] = self._environment.now
        return TreeAnswer(True, self.path)

    def _seek(self) -> None:
        lacks = self.parent is None or self.parent not in self._candidates
        if lacks and self._trying is None and self._candidates and not self._stopped:
            self._try(0)

    def _try(self, place: int) -> None:
        hoping = place > 0 and self._environment.now < self._hopes_until
        if hoping or place >= len(self._candidates):
            self._trying = None
            self._request = self._environment.set_timer(self._patience, self._seek)
            return
        candidate = self._trying = self._candidates[place]
        self._request = self._environment.request(
            candidate,
            TreeAttachment(*self._table),
            self._patience,
            partial(self._answered, candidate, place),
            partial(self._try, place + 1),
        )

    def _answered(self, candidate: int, place: int, answer: Message) -> None:
        assert isinstance(answer, TreeAnswer)
        if not answer.accepted:
            self._try(place + 1)
            return
        self._trying = self._request = None
        self._misses = 0
        self._forget_former(candidate)
        # The link to a former child stays, so it must not end when that one sends no beats.
        self.children.pop(candidate, None)
        self._change_parent(candidate)
        self._opened(candidate)
        self._note_path(candidate, answer.path)

    def _stop_trying(self) -> None:
        self._trying = None
        if self._request is not None:
            self._request.cancel()
            self._request = None

    def _change_parent(self, parent: int | None) -> None:
        """Have another parent, or none; the one before is kept a little longer."""
        before, self.parent = self.parent, parent
        if before is not None and before != parent:
            leave = partial(self._leave_former, before)
            self._formers[before] = self._environment.set_timer(_OVERLAP * self._beat, leave)

    def _leave_parent(self) -> None:
        """Have none, at once."""
        parent = self.parent
        if parent is not None:
            self._change_parent(None)
            self._leave_former(parent)

    def _leave_former(self, former: int) -> None:
        self._forget_former(former)
        self._closed(former)
        self._environment.send(former, TreeDetachment(*self._table))

    def _forget_former(self, peer: int) -> bool:
        """It is no former parent any more; whether it was one."""
        timer = self._formers.pop(peer, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def _ask(self) -> None:
        oldest = self._environment.now - _SILENT_BEATS * self._beat
        for child in [child for child, heard in self.children.items() if heard < oldest]:
            self.lose(child)
        parent = self.parent
        self._seek()
        if parent is not None:
            self._beats += 1
            if self._beats % _BEATS_TO_IMPROVE == 0 and self._candidates[:1] not in ([], [parent]):
                self._improve(self._candidates[0])
            self._environment.request(
                parent,
                TreeBeat(*self._table),
                self._patience,
                partial(self._beaten, parent),
                partial(self._missed, parent),
            )

    def _improve(self, better: int) -> None:
        """Go over to the best candidate, if it is there by now."""

        def answered(answer: Message) -> None:
            assert isinstance(answer, TreeAnswer)
            wanted = self._trying is None and self._candidates[:1] == [better] and not self._stopped
            if answer.accepted and wanted and self.parent != better:
                self._answered(better, 0, answer)
            elif answer.accepted and better not in self.neighbours:
                self._environment.send(better, TreeDetachment(*self._table))

        self._environment.request(
            better, TreeAttachment(*self._table), self._patience, answered, lambda: None
        )

    def _beaten(self, parent: int, answer: Message) -> None:
        assert isinstance(answer, TreeAnswer)
        self._misses = 0
        if parent == self.parent:
            if answer.accepted:
                self._note_path(parent, answer.path)
            else:
                self.lose(parent)

    def _note_path(self, parent: int, path: list[int]) -> None:
        self._path = path
        if self._environment.peer in path and parent == self.parent:
            self._leave_parent()
            self._request = self._environment.set_timer(self._patience, self._seek)

    def _missed(self, parent: int) -> None:
        """A single beat may be lost; that a peer is down is told by `lose`."""
        self._misses += 1
        if self._misses >= _MOST_MISSES and parent == self.parent:
            self.lose(parent)
