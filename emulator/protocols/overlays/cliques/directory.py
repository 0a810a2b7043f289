"""The directory of all cliques at one server: it spreads by gossip, and a silent leader's record expires.

Two servers tell each other which views they know, and when each leader last said that it is alive (its
*beat*). They send a record only where the other one's view differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mypy_extensions import i64

from emulator.compact.number_maps import ABSENT, NumberMap
from emulator.compact.number_sets import LARGEST
from emulator.contract.protocol import Environment, Message
from emulator.protocols.overlays.cliques.view import is_sound
from trellis.v1.cliques import CliqueRecord, DirectoryAnswer, DirectoryDigest, DirectoryNews

_FORGOTTEN: Final = 3.0
"""The lifetimes for which a record that has ended is not accepted again."""


class Directory:
    """The records of cliques by their leaders."""

    def __init__(
        self,
        environment: Environment,
        expiry: float,
        patience: float,
        changed: Callable[[CliqueRecord | None, CliqueRecord | None], None],
    ) -> None:
        """`changed(before, now)` is called when members or shares of a clique change."""
        self._environment = environment
        self._expiry = expiry
        self._patience = patience
        self._changed = changed
        self.records: dict[int, CliqueRecord] = {}
        self._views = NumberMap()
        """The view numbers of these records, by leader."""
        self._beats = NumberMap()
        """The latest beat of each leader."""
        self._heard = NumberMap()
        """The time at which this server learnt of each leader's latest beat, in ns."""
        self._leader_of = NumberMap()
        self._ended: dict[int, tuple[int, int, float]] = {}
        """The leaders that no longer lead a clique: view and beat of the last record, and when it ended.

        The dictionary begins with those that ended first.
        """
        environment.serve(DirectoryDigest, self._on_digest)
        environment.handle(DirectoryNews, self._on_news)

    def put(self, record: CliqueRecord, beat: int = 0) -> None:
        """Store a record if it is newer than the known one."""
        leader, view = record.leader, record.view
        if view > LARGEST:
            self._environment.drop(DirectoryNews, "a record has too large a number")
            return
        known_view = self._views.get(leader)
        if known_view >= view:
            if known_view == view:
                self._note(leader, beat)
            return
        known = self.records.get(leader)
        if known is None and self._is_over(leader, view, beat):
            return
        if not is_sound(record):
            self._environment.drop(DirectoryNews, "the lists of a record do not fit together")
            return
        self.records[leader] = record
        self._views.put(leader, view)
        self._beats.put(leader, max(beat, self._beats.get(leader)))
        self._heard.put(leader, _ns(self._environment.now))
        for member in record.members:
            if self._leader_of.get(member) != leader:
                self._leader_of.put(member, leader)
            if member != leader:
                self._remove_older(member, view)
        for other in record.replaces:
            if other != leader:
                self._remove_older(other, view)
        self._changed(known, record)

    def beat(self, leader: int) -> None:
        """Note that the leader, which is this server itself, is alive."""
        self._note(leader, int(self._environment.now))

    def _note(self, leader: i64, beat: i64) -> None:
        known = self._beats.get(leader)
        if ABSENT < known < beat:
            self._beats.put(leader, beat)
            self._heard.put(leader, _ns(self._environment.now))

    def _is_over(self, leader: int, view: int, beat: int) -> bool:
        """Return whether the record has ended, or its leader is only a member of another clique by now."""
        ended = self._ended.get(leader)
        if ended is not None and ended[:2] >= (view, beat):
            return True
        other = self._leader_of.get(leader)
        return (
            other not in (ABSENT, leader)
            and self._views.get(other) > view
            and leader in self.records[other].members
        )

    @property
    def latest(self) -> int:
        """The greatest view number that is known."""
        return max((record.view for record in self.records.values()), default=0)

    def remove(self, leader: int) -> None:
        """Remove a clique that has ended. An old record of it will not be accepted."""
        known = self.records.pop(leader, None)
        if known is not None:
            beat = self._beats.get(leader)
            for numbers in (self._views, self._beats, self._heard):
                numbers.remove(leader)
            if not self._is_over(leader, known.view, beat):
                self._ended.pop(leader, None)
                self._ended[leader] = known.view, beat, self._environment.now
            self._changed(known, None)

    def _remove_older(self, leader: i64, view: i64) -> None:
        if ABSENT < self._views.get(leader) < view:
            self.remove(leader)

    def expire(self, but: int | None) -> None:
        """Remove cliques that were silent for too long, except for the one with the leader `but`."""
        oldest_ns = _ns(self._environment.now - self._expiry)
        for leader in [leader for leader in self.records if self._heard.get(leader) < oldest_ns]:
            if leader != but:
                self.remove(leader)
        oldest = self._environment.now - _FORGOTTEN * self._expiry
        while self._ended:
            first = next(iter(self._ended))
            if self._ended[first][2] >= oldest:
                break
            del self._ended[first]

    def exchange(self, peer: int, done: Callable[[bool], None] | None = None) -> None:
        """Exchange records with a peer; `done` hears whether the peer answered."""
        leaders = list(self.records)
        digest = DirectoryDigest(
            leaders,
            [self._views.get(leader) for leader in leaders],
            [self._beats.get(leader) for leader in leaders],
        )

        def answered(answer: Message) -> None:
            if not isinstance(answer, DirectoryAnswer) or not _fits(answer.leaders, answer.beats):
                self._environment.drop(type(answer), "it does not answer the digest")
                if done is not None:
                    done(False)
                return
            beats = dict(zip(answer.leaders, answer.beats, strict=True))
            for record in answer.records:
                self.put(record, beats.get(record.leader, 0))
            for leader, beat in beats.items():
                self._note(leader, beat)
            wanted = [self.records[leader] for leader in answer.wanted if leader in self.records]
            if wanted:
                self._environment.send(peer, self._news(wanted, False))
            if done is not None:
                done(True)

        def failed() -> None:
            if done is not None:
                done(False)

        self._environment.request(peer, digest, self._patience, answered, failed)

    def hurry(self, record: CliqueRecord) -> None:
        """Tell all other leaders of a record at once."""
        news = self._news([record], True)
        for leader in self.records:
            if leader != self._environment.peer:
                self._environment.send(leader, news)

    def _news(self, records: list[CliqueRecord], urgent: bool) -> DirectoryNews:
        return DirectoryNews(records, [max(0, self._beats.get(record.leader)) for record in records], urgent)

    def _on_news(self, sender: int, news: DirectoryNews) -> None:
        if not _fits(news.records, news.beats) or not _fits(news.records, [r.view for r in news.records]):
            self._environment.drop(DirectoryNews, "its lists do not fit together")
            return
        new = [record for record in news.records if self._views.get(record.leader) < record.view]
        for record, beat in zip(news.records, news.beats, strict=True):
            self.put(record, beat)
        own = self.records.get(self._environment.peer)
        if news.urgent and new and own is not None:
            passed_on = self._news(new, False)
            for mate in own.members:
                if mate != self._environment.peer:
                    self._environment.send(mate, passed_on)

    def _on_digest(self, sender: int, digest: DirectoryDigest) -> DirectoryAnswer | None:
        if not _fits(digest.leaders, digest.beats) or not _fits(digest.leaders, digest.views):
            self._environment.drop(DirectoryDigest, "its lists do not fit together")
            return None
        wanted: list[int] = []
        later: list[int] = []
        newer: list[CliqueRecord] = []
        in_both = 0
        views, beats = digest.views, digest.beats
        for place, leader in enumerate(digest.leaders):
            view, beat, known = views[place], beats[place], self._views.get(leader)
            if known == ABSENT:
                if not self._is_over(leader, view, beat):
                    wanted.append(leader)
                continue
            in_both += 1
            if known < view:
                wanted.append(leader)
            elif known > view:
                newer.append(self.records[leader])
            elif self._beats.get(leader) > beat:
                later.append(leader)
            else:
                self._note(leader, beat)
        missing: list[CliqueRecord] = []
        if in_both < len(self.records):
            theirs = set(digest.leaders)
            missing = [record for leader, record in self.records.items() if leader not in theirs]
        missing += newer
        leaders = [*(record.leader for record in missing), *later]
        return DirectoryAnswer(missing, wanted, leaders, [self._beats.get(leader) for leader in leaders])


def _fits(things: Sequence[object], numbers: Sequence[int]) -> bool:
    """Return whether there is a number for each thing, all of them such as a `NumberMap` holds."""
    return len(things) == len(numbers) and max(numbers, default=0) <= LARGEST


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
