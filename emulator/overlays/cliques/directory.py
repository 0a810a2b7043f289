"""What a server knows of all cliques: it spreads by gossip, and ends when a leader falls silent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from emulator.overlays.cliques.view import is_sound
from emulator.protocol import Environment, Message
from trellis.v1.cliques import CliqueRecord, DirectoryAnswer, DirectoryDigest, DirectoryNews

_FORGOTTEN: Final = 3.0
"""Lifetimes for which a record that has ended is not taken again."""


class Directory:
    """Records by their leaders."""

    def __init__(
        self,
        environment: Environment,
        expiry: float,
        patience: float,
        changed: Callable[[CliqueRecord | None, CliqueRecord | None], None],
    ) -> None:
        """`changed(before, now)` hears of members and shares that are others than before."""
        self._environment = environment
        self._expiry = expiry
        self._patience = patience
        self._changed = changed
        self.records: dict[int, CliqueRecord] = {}
        self._leader_of: dict[int, int] = {}
        self._heard: dict[int, float] = {}
        self._ended: dict[int, tuple[tuple[int, int], float]] = {}
        environment.serve(DirectoryDigest, self._on_digest)
        environment.handle(DirectoryNews, self._on_news)

    def put(self, record: CliqueRecord) -> None:
        """Take what is newer than what is known."""
        leader, stamp = record.leader, (record.view, record.beat)
        known = self.records.get(leader)
        if known is not None and (known.view, known.beat) >= stamp:
            return
        ended = self._ended.get(leader)
        if ended is not None and ended[0] >= stamp:
            return
        if not is_sound(record) or self._is_over(record):
            return
        self.records[leader] = record
        self._heard[leader] = self._environment.now
        if known is None or known.view != record.view:
            for member in record.members:
                self._leader_of[member] = leader
            for other in (*record.members, *record.replaces):
                if other != leader and other in self.records and self.records[other].view < record.view:
                    self.remove(other)
            self._changed(known, record)

    def _is_over(self, record: CliqueRecord) -> bool:
        """Whether the leader is only a member of another clique by now."""
        other = self.records.get(self._leader_of.get(record.leader, record.leader))
        return (
            other is not None
            and other.leader != record.leader
            and record.leader in other.members
            and other.view > record.view
        )

    @property
    def latest(self) -> int:
        """The greatest number of a view that is known."""
        return max((record.view for record in self.records.values()), default=0)

    def remove(self, leader: int) -> None:
        """This clique is no more; an old record of it will not be taken."""
        known = self.records.pop(leader, None)
        if known is not None:
            self._ended[leader] = (known.view, known.beat), self._environment.now
            self._changed(known, None)

    def expire(self, but: int | None) -> None:
        """Forget cliques of which nothing was heard for long, but not the one with the leader `but`."""
        now = self._environment.now
        for leader in [leader for leader in self.records if leader != but]:
            if now - self._heard[leader] > self._expiry:
                self.remove(leader)
        for leader in [
            leader for leader, (_, at) in self._ended.items() if now - at > _FORGOTTEN * self._expiry
        ]:
            del self._ended[leader]

    def exchange(self, peer: int, done: Callable[[bool], None] | None = None) -> None:
        """Tell a peer what is known here, and learn what it knows more; `done(whether it answered)`."""
        records = self.records.values()
        digest = DirectoryDigest(
            [record.leader for record in records],
            [record.view for record in records],
            [record.beat for record in records],
        )

        def answered(answer: Message) -> None:
            assert isinstance(answer, DirectoryAnswer)
            self._take(answer.records)
            wanted = [self.records[leader] for leader in answer.wanted if leader in self.records]
            if wanted:
                self._environment.send(peer, DirectoryNews(wanted))
            if done is not None:
                done(True)

        def failed() -> None:
            if done is not None:
                done(False)

        self._environment.request(peer, digest, self._patience, answered, failed)

    def hurry(self, record: CliqueRecord) -> None:
        """Tell all other leaders at once."""
        news = DirectoryNews([record], True)
        for leader in self.records:
            if leader != self._environment.peer:
                self._environment.send(leader, news)

    def _take(self, records: Iterable[CliqueRecord]) -> None:
        for record in records:
            self.put(record)

    def _on_news(self, sender: int, news: DirectoryNews) -> None:
        new = [
            r for r in news.records if r.leader not in self.records or self.records[r.leader].view < r.view
        ]
        self._take(news.records)
        own = self.records.get(self._environment.peer)
        if news.urgent and new and own is not None:
            passed_on = DirectoryNews(new)
            for mate in own.members:
                if mate != self._environment.peer:
                    self._environment.send(mate, passed_on)

    def _on_digest(self, sender: int, digest: DirectoryDigest) -> DirectoryAnswer:
        theirs = {
            leader: (view, beat)
            for leader, view, beat in zip(digest.leaders, digest.views, digest.beats, strict=True)
        }
        missing = [
            record
            for record in self.records.values()
            if record.leader not in theirs or theirs[record.leader] < (record.view, record.beat)
        ]
        wanted = []
        for leader, stamp in theirs.items():
            known = self.records.get(leader)
            ended = self._ended.get(leader)
            if (known is None or (known.view, known.beat) < stamp) and (ended is None or ended[0] < stamp):
                wanted.append(leader)
        return DirectoryAnswer(missing, wanted)
