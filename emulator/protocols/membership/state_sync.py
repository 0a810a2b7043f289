"""Whole lists, exchanged with one other member: joins, memberlist's push-pull, Serf's reconnect."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from mypy_extensions import i64

from emulator.contract.protocol import Environment, Message
from emulator.protocols.membership.parameters import SwimParameters
from emulator.protocols.membership.view import MemberView
from emulator.protocols.membership.words import ALIVE, WORD_BITS, Words
from trellis.v1.swim import MemberUpdate, SwimSync, SwimSyncReply

_TIMEOUT: Final = 10.0
"""The seconds that an exchange may take, as in memberlist."""
_UNSCALED: Final = 32
"""The size of a group up to which members exchange lists at the plain interval, as in memberlist."""
_MOST_ENTRIES: Final = 1 << 18
"""The entries of lists that are kept for the next list."""


class ListEntries:
    """The entries of lists: one update for each word about a member, whoever tells it.

    Lists of 10,000 members would otherwise make as many updates each time, and count the bytes of each.
    """

    def __init__(self, final: bool) -> None:
        self._words = Words(final)
        self._made: dict[i64, MemberUpdate] = {}

    def of(self, member: i64, word: i64) -> MemberUpdate:
        """Return the update that tells a word about a member, and names no accuser."""
        key = member << WORD_BITS | word
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= _MOST_ENTRIES:
                self._made.clear()
            found = self._words.update(member, word)
            self._made[key] = found
        return found


class StateSync:
    """The exchanges of lists of one member."""

    def __init__(
        self,
        environment: Environment,
        parameters: SwimParameters,
        view: MemberView,
        own: Callable[[], MemberUpdate],
        merge: Callable[[Sequence[MemberUpdate]], None],
    ) -> None:
        """Have `own` return what this member says of itself, and `merge` take over another member's list."""
        self._environment = environment
        self._joins_by_all = parameters.join == "all"
        self._reconnect_timeout = parameters.reconnect_timeout
        self._view = view
        self._entries = environment.shared(ListEntries, parameters.confirm == "final")
        self._own = own
        self._merge = merge
        self._waits = 0
        environment.serve(SwimSync, self._on_sync)
        if parameters.push_pull:
            environment.every(parameters.push_pull, self._push_pull)
        if parameters.reconnect:
            environment.every(parameters.reconnect, self._reconnect)

    def join(self, contacts: Sequence[int]) -> None:
        """Exchange lists with the first of these members that answers, or with one after the other, as
        memberlist does. If none answers, the bootstrap service names others."""
        if contacts:
            self._join_by(contacts, False)

    def _join_by(self, contacts: Sequence[int], joined: bool) -> None:
        """Ask the next of these members for its list; `joined` says whether another one has answered."""
        if contacts:
            left = contacts[1:]
            answered = partial(self._join_by, left if self._joins_by_all else [], True)
            self._exchange(contacts[0], True, answered, partial(self._join_by, left, joined))
        elif not joined:
            self._environment.find_contacts(self.join)

    def _push_pull(self) -> None:
        """Exchange lists with a random member; large groups do so less often, as in memberlist."""
        if self._waits:
            self._waits -= 1
            return
        size = int(self._view.size) + 1
        if size > _UNSCALED:
            self._waits = math.ceil(math.log2(size / _UNSCALED))
        for member in self._view.sample(1, self._environment.peer, ALIVE, self._environment.now):
            self._exchange(member, False, _go_on, _go_on)

    def _reconnect(self) -> None:
        """Try to reach a random one of the members that were declared failed, as Serf does.

        The chance is the ratio of the failed members to the others, so that few members try at a time.
        """
        environment = self._environment
        now, timeout = environment.now, self._reconnect_timeout
        failed = [member for member, since in self._view.failed.items() if now - since <= timeout]
        if failed and environment.random.random() <= len(failed) / max(1, int(self._view.size)):
            self._exchange(environment.random.choice(failed), True, _go_on, _go_on)

    def _exchange(
        self, member: int, joins: bool, answered: Callable[[], None], failed: Callable[[], None]
    ) -> None:
        question = SwimSync(joins, self._list())
        self._environment.request(member, question, _TIMEOUT, partial(self._on_reply, answered), failed)

    def _on_sync(self, sender: int, sync: SwimSync) -> Message:
        answer = SwimSyncReply(sync.joins, self._list())
        self._merge(sync.members)
        return answer

    def _on_reply(self, answered: Callable[[], None], reply: Message) -> None:
        if isinstance(reply, SwimSyncReply):
            self._merge(reply.members)
        else:
            self._environment.drop(type(reply), "it answers something else")
        answered()

    def _list(self) -> list[MemberUpdate]:
        entries, view = self._entries, self._view
        return [self._own(), *[entries.of(member, view.word(member)) for member in view.members()]]


def _go_on() -> None:
    """Do nothing: another exchange follows."""
