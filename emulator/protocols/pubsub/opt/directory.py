"""Full knowledge: a directory at one peer, which tells each peer of all peers with a common topic.

It is a device for experiments that ask what gossip costs. Peers learn from it only by messages, and it is
down when its peer is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Final

from emulator.compact.bit_sets import bits
from emulator.contract.protocol import Environment
from emulator.messages.message import Message
from emulator.protocols.pubsub.opt.knowledge import Knowledge
from trellis.v1.opt import DirectoryQuery, TopicDirectoryAnswer
from trellis.v1.overlay import Profile

_REMEMBERED: Final = 2.0
"""The lifetimes for which a peer that is gone is remembered."""
_SESSION: Final = 1 << 20
"""The count of serial numbers that each life of the directory has for itself."""


class Directory:
    """The directory at the peer that keeps it: all peers that asked lately, and the changes."""

    def __init__(self, lifetime: float, session: int = 0) -> None:
        """A peer that does not ask for `lifetime` seconds counts as gone.

        `session` is the number of the keeper's life. Each life counts from a number of its own, so that a
        peer that asked an earlier one is told everything anew.
        """
        self._lifetime = lifetime
        self._serial = session * _SESSION
        self._profiles: dict[int, Profile] = {}
        self._asked: dict[int, float] = {}
        """The time at which each peer asked last (s of trial time), the longest ago first."""
        self._came: dict[int, dict[int, int]] = {}
        """The peers of each topic with the serial numbers at which they came, ascending."""
        self._gone: deque[tuple[int, int, float]] = deque()
        """The peers that are gone lately as (serial number, peer, time), ascending."""
        self._told_until = self._serial
        """The serial number of the last peer that is gone and no longer remembered."""

    def answer(self, query: DirectoryQuery, now: float) -> TopicDirectoryAnswer | None:
        """Add the asker, and answer what is new to it; `now` is the trial time in seconds."""
        asker = query.profile
        if asker is None:
            return None
        self._drop_silent(now)
        self._asked.pop(asker.peer, None)
        self._asked[asker.peer] = now
        before = self._profiles.get(asker.peer)
        if before != asker:
            self._serial += 1
            if before is not None:
                self._take_from_topics(before)
            self._profiles[asker.peer] = asker
            for topic in bits(asker.topics):
                self._came.setdefault(topic, {})[asker.peer] = self._serial
        since = query.since if query.since >= self._told_until else 0
        news: dict[int, Profile] = {}
        for topic in bits(asker.topics):
            for peer, serial in reversed(self._came[topic].items()):
                if serial <= since:
                    break
                profile = self._profiles.get(peer)
                if profile is not None and peer != asker.peer:
                    news[peer] = profile
        gone = [peer for serial, peer, _ in self._gone if serial > since and peer not in self._profiles]
        anew = since < query.since
        return TopicDirectoryAnswer(self._serial, list(news.values()), gone if since else [], anew)

    def _drop_silent(self, now: float) -> None:
        while self._asked:
            peer = next(iter(self._asked))
            if self._asked[peer] >= now - self._lifetime:
                break
            self._take_from_topics(self._profiles.pop(peer))
            del self._asked[peer]
            self._serial += 1
            self._gone.append((self._serial, peer, now))
        # Who asks counts as gone itself when it has not asked for so long that it was not told of these.
        while self._gone and self._gone[0][2] < now - _REMEMBERED * self._lifetime:
            self._told_until = self._gone.popleft()[0]

    def _take_from_topics(self, profile: Profile) -> None:
        for topic in bits(profile.topics):
            came = self._came[topic]
            del came[profile.peer]
            if not came:
                del self._came[topic]


class FullKnowledge(Knowledge):
    """The client of the directory at each peer, and the directory itself at the peer that keeps it."""

    def __init__(
        self,
        environment: Environment,
        own: Callable[[], Profile],
        *,
        directory: int,
        lifetime: float,
        timeout: float,
    ) -> None:
        """`directory` is the peer that keeps the directory; `timeout` of a question is in seconds."""
        super().__init__()
        self._environment = environment
        self._own = own
        self._keeper = directory
        self._timeout = timeout
        self._serial = 0
        self._known: dict[int, Profile] = {}
        self._waits = False
        if environment.peer == directory:
            self._directory = Directory(lifetime, environment.session)
            environment.serve(DirectoryQuery, self._on_query)

    def start(self, contacts: Sequence[int]) -> None:
        self.learn(_do_nothing)

    def stop(self, graceful: bool) -> None:
        self._known.clear()

    def learn(self, then: Callable[[], None]) -> None:
        """Ask the directory, and call `then` after the answer, which has the newest peers."""
        if self._waits:
            return
        query = DirectoryQuery(self._own(), self._serial)
        if self._environment.peer == self._keeper:
            answer = self._directory.answer(query, self._environment.now)
            assert answer is not None
            self._take_over(answer)
            then()
            return
        self._waits = True
        self._environment.request(
            self._keeper,
            query,
            self._timeout,
            lambda reply: self._on_answer(reply, then),
            lambda: self._on_silence(then),
        )

    def candidates(self) -> Collection[Profile]:
        return self._known.values()

    def forget(self, peer: int) -> None:
        self._known.pop(peer, None)
        self.changes += 1

    def describe(self) -> None:
        """Ask for everything next time, because this peer has new topics."""
        self._serial = 0
        self._known = {}
        self.changes += 1

    def _on_query(self, sender: int, query: DirectoryQuery) -> TopicDirectoryAnswer | None:
        if query.profile is None:
            self._environment.drop(DirectoryQuery, "it lacks a part")
        return self._directory.answer(query, self._environment.now)

    def _on_answer(self, reply: Message, then: Callable[[], None]) -> None:
        self._waits = False
        if isinstance(reply, TopicDirectoryAnswer):
            self._take_over(reply)
        else:
            self._environment.drop(type(reply), "it answers something else")
        then()

    def _on_silence(self, then: Callable[[], None]) -> None:
        self._waits = False
        then()

    def _take_over(self, answer: TopicDirectoryAnswer) -> None:
        self._serial = answer.serial
        if answer.anew:
            self._known.clear()
        if answer.anew or answer.profiles or answer.gone:
            self.changes += 1
        for peer in answer.gone:
            self._known.pop(peer, None)
        for profile in answer.profiles:
            self._known[profile.peer] = profile


def _do_nothing() -> None:
    """Do nothing: no peer seeks links before the first round."""
