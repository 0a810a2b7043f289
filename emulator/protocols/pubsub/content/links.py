"""The links of one server on one tree: to its parent, unless it is the root, and to its children.

A child attaches to the first of its candidates that answers, and asks it from time to time whether it is
still there. The candidates of a server lie before it in an order that all servers agree on, so there is no
cycle, whichever servers fail. While servers do not agree yet, a parent's path to the root shows a child which
link would close a cycle.

A child that changes its parent keeps both for a short time, until the new one knows what is wanted over its
link, so no event is missed. A server routes an event that comes over both links once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from emulator.contract.protocol import Environment, Message, Timer
from trellis.v1.filters import TreeAnswer, TreeAttachment, TreeBeat, TreeDetachment

_SILENT_BEATS: Final = 3.5
"""A child that says nothing for this many beats is given up."""
_BEATS_TO_IMPROVE: Final = 5
"""A server whose parent is not its best candidate asks that candidate again after this many beats."""
_LONGEST: Final = 100
"""The most servers of a path that are told."""
_OVERLAP: Final = 5.0
"""The beats for which the former parent is kept, because the new one may still lose its own parent."""
_MOST_MISSES: Final = 3
"""A parent that does not answer this many beats in a row is given up."""


class TreeLinks:
    """The parent and the children of one server on one tree."""

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
        """The trial time in seconds at which each child was last heard from, by child."""
        self.claims_root = False
        """Whether this server takes itself for the root, which others may not know yet."""
        self.closing = False
        """Whether this server is about to leave, so that no other server may attach to it."""
        self._formers: dict[int, Timer] = {}
        """The former parents that are still kept, with the timers that end their links."""
        self._stopped = False
        self._path: list[int] = []
        """The path from the parent's parent to the root, as the parent told it."""
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
        """Whether this server is the root or has a parent."""
        return self.parent is not None or not self._candidates

    @property
    def path(self) -> list[int]:
        """The path from the parent to the root, as far as this server knows it."""
        return [] if self.parent is None else [self.parent, *self._path][:_LONGEST]

    def aim(self, candidates: Sequence[int], hope: float = 0.0) -> None:
        """Become a child of the first of these candidates that answers; become the root if there are none.

        A parent that is among the candidates is kept; another parent is kept until a candidate has accepted
        this server. For `hope` seconds only the first candidate is asked, so that servers that start together
        need not change their parents when all are up.
        """
        self._hopes_until = self._environment.now + hope
        self._candidates = list(candidates)
        if not self._candidates:
            self._change_parent(None)
        if self._trying is not None and self._trying not in self._candidates:
            self._stop_trying()
        self._seek()

    def switch(self, parent: int) -> None:
        """Become a child of this candidate instead."""
        self._candidates = [parent, *(other for other in self._candidates if other != parent)]
        if self.parent is None:
            self._stop_trying()
            self._seek()
        elif self.parent != parent and self._trying != parent:
            self._improve(parent)

    def stop(self, graceful: bool) -> None:
        """Leave the tree."""
        self._stopped = True
        self._timer.cancel()
        self._stop_trying()
        for timer in self._formers.values():
            timer.cancel()
        if graceful:
            for neighbour in self.neighbours:
                self._environment.send(neighbour, TreeDetachment(*self._table))

    def lose(self, peer: int) -> None:
        """Drop the links to a peer that is gone, or that says it is no neighbour."""
        if self.children.pop(peer, None) is not None:
            self._closed(peer)
        if self._forget_former(peer):
            self._closed(peer)
        if peer == self.parent:
            self.parent = None
            self._closed(peer)
            self._seek()

    def on_attachment(self, child: int) -> TreeAnswer:
        """Answer a peer that asks to be a child."""
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
        """Answer a child that asks whether it is one."""
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
        if not isinstance(answer, TreeAnswer) or not answer.accepted:
            if not isinstance(answer, TreeAnswer):
                self._environment.drop(type(answer), "it answers something else")
            self._try(place + 1)
            return
        self._trying = self._request = None
        self._misses = 0
        self._forget_former(candidate)
        # The link to a former child becomes the link to the parent, so it must not end when no beats come
        # from there.
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
        """Take another parent, or none. The former parent is kept a little longer."""
        before, self.parent = self.parent, parent
        if before is not None and before != parent:
            leave = partial(self._leave_former, before)
            self._formers[before] = self._environment.set_timer(_OVERLAP * self._beat, leave)

    def _leave_parent(self) -> None:
        """Leave the parent at once and have none."""
        parent = self.parent
        if parent is not None:
            self._change_parent(None)
            self._leave_former(parent)

    def _leave_former(self, former: int) -> None:
        self._forget_former(former)
        self._closed(former)
        self._environment.send(former, TreeDetachment(*self._table))

    def _forget_former(self, peer: int) -> bool:
        """Forget a former parent. Returns whether the peer was one."""
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
        """Attach to the best candidate if it is up by now."""

        def answered(answer: Message) -> None:
            if not isinstance(answer, TreeAnswer):
                self._environment.drop(type(answer), "it answers something else")
                return
            wanted = self._trying is None and self._candidates[:1] == [better] and not self._stopped
            if answer.accepted and wanted and self.parent != better:
                self._answered(better, 0, answer)
            elif answer.accepted and better not in self.neighbours:
                self._environment.send(better, TreeDetachment(*self._table))

        self._environment.request(
            better, TreeAttachment(*self._table), self._patience, answered, lambda: None
        )

    def _beaten(self, parent: int, answer: Message) -> None:
        if not isinstance(answer, TreeAnswer):
            self._environment.drop(type(answer), "it answers something else")
            return
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
        """Note that a parent did not answer a beat, which may be lost; `lose` tells when a peer is down."""
        self._misses += 1
        if self._misses >= _MOST_MISSES and parent == self.parent:
            self.lose(parent)
