"""The list of the members that one member knows, packed, and the order in which it probes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i32, i64

from emulator.contract.draws import below
from emulator.protocols.membership.words import FAILED, UNKNOWN, WORD_BITS, Words
from trellis.v1.swim import MemberUpdate

MOST_MEMBERS: Final[i64] = 1 << 20
"""Members have lower numbers."""
NOBODY: Final[i64] = -1
_LISTED: Final[i64] = 1 << WORD_BITS
"""The bit of a member that stands in the order of probes."""


class StartingMembers:
    """The members of a group that know each other from the start, alive and in their first session."""

    def __init__(self, members: Sequence[int], final: bool) -> None:
        word = Words(final).pack(MemberUpdate())
        self.known = vec[i32]([i32(UNKNOWN)] * (max(members, default=-1) + 1))
        self.order = vec[i32]()
        for member in members:
            self.known[member] = i32(word | _LISTED)
            self.order = append(self.order, i32(member))

    def place(self, member: i64) -> i64:
        """Return where in the order a member stands. Raises ValueError if it is not of the list."""
        found: i64
        for found in range(len(self.order)):
            if self.order[found] == member:
                return found
        raise ValueError(f"member {member} is not of the starting list")


class MemberView:
    """The members that one member knows, each a number of 32 bits here and one in the order of probes.

    The order is a random one that has each member once a round (SWIM, section 4.3). Instead of shuffling all
    at the end of a round, each step draws one of those that are left, which makes the same order.
    """

    def __init__(self, words: Words, random: Random, forget_after: float) -> None:
        """Keep members that are over listed, where gossip finds them, for `forget_after` seconds."""
        self._words = words
        self._random = random
        self._forget_after = forget_after
        self._known = vec[i32]()
        self._order = vec[i32]()
        self._count: i64 = 0
        """The members in the order; what follows them is void."""
        self._turn: i64 = 0
        """The members of the order that were probed in this round."""
        self.size: i64 = 0
        """The members that are alive or suspected."""
        self.failed: dict[int, float] = {}
        """The members that were declared failed and are not back, with the time (s)."""
        self._left: dict[int, float] = {}

    def begin(self, starting: StartingMembers, but: i64) -> None:
        """Begin with a list, of which `but` is the member whose view this is."""
        self._known, self._order = starting.known[:], starting.order[:]
        self._count = len(self._order) - 1
        self._order[starting.place(but)] = self._order[self._count]
        self._known[but] = i32(UNKNOWN)
        self.size = self._count

    def word(self, member: i64) -> i64:
        """Return the latest word of a member, `UNKNOWN` if there is none."""
        if member >= len(self._known):
            return UNKNOWN
        return i64(self._known[member]) & (_LISTED - 1)

    def put(self, member: i64, word: i64, now: float) -> None:
        """Take over a later word of a member, whose number is below `MOST_MEMBERS`."""
        while member >= len(self._known):
            self._known = append(self._known, i32(UNKNOWN))
        before = self.word(member)
        listed = i64(self._known[member]) & _LISTED
        self._known[member] = i32(word | listed)
        is_over = self._words.is_over(word)
        if before != UNKNOWN and not self._words.is_over(before):
            self.size -= 1
        if is_over:
            since = self.failed if self._words.state(word) == FAILED else self._left
            since[member] = now
            return
        self.size += 1
        self.failed.pop(member, None)
        self._left.pop(member, None)
        if not listed:
            self._insert(member)

    def next_target(self, now: float) -> i64:
        """Return the next member to probe, `NOBODY` if all are over; forget those that have long been."""
        looked_at: i64 = 0
        while looked_at <= self._count and self._count > 0:
            if self._turn >= self._count:
                self._turn = 0
            chosen = self._turn + below(self._random, self._count - self._turn)
            member = self._order[chosen]
            if not self._words.is_over(self.word(i64(member))):
                self._order[chosen] = self._order[self._turn]
                self._order[self._turn] = member
                self._turn += 1
                return i64(member)
            if self._is_long_over(i64(member), now):
                self._count -= 1
                self._order[chosen] = self._order[self._count]
                self._forget(i64(member))
            else:
                self._order[chosen] = self._order[self._turn]
                self._order[self._turn] = member
                self._turn += 1
                looked_at += 1
        return NOBODY

    def sample(self, count: i64, but: i64, state: i64, failed_since: float) -> list[int]:
        """Return up to `count` random members other than `but` that are alive, or worse up to `state`.

        Members that were declared failed after `failed_since` (s) count as alive.
        """
        if self._count < 3 * count:
            fitting = [member for member in self.members() if self._fits(member, but, state, failed_since)]
            return self._random.sample(fitting, min(count, len(fitting)))
        found: list[int] = []
        _tries: i64
        for _tries in range(3 * self._count):
            if len(found) >= count:
                break
            member = i64(self._order[below(self._random, self._count)])
            if self._fits(member, but, state, failed_since) and member not in found:
                found.append(member)
        return found

    def members(self) -> Iterator[int]:
        """Yield the members in the order of probes, those that have been over for a short time among them."""
        place: i64
        for place in range(self._count):
            yield self._order[place]

    def _fits(self, member: i64, but: i64, state: i64, failed_since: float) -> bool:
        if member == but:
            return False
        if self._words.state(self.word(member)) <= state:
            return True
        return member in self.failed and self.failed[member] > failed_since

    def _insert(self, member: i64) -> None:
        """Put a member at a random place of the order (section 4.3): it may be too late for this round."""
        place: i64 = below(self._random, self._count + 1)
        if self._count < len(self._order):
            self._order[self._count] = i32(member)
        else:
            self._order = append(self._order, i32(member))
        if place < self._turn:
            self._order[self._count] = self._order[self._turn]
            self._order[self._turn] = i32(member)
            self._turn += 1
        self._count += 1
        self._known[member] = i32(i64(self._known[member]) | _LISTED)

    def _is_long_over(self, member: i64, now: float) -> bool:
        since = self.failed.get(member, self._left.get(member, now))
        return now - since >= self._forget_after

    def _forget(self, member: i64) -> None:
        """Take a member out of the list. Where a failure is final its word stays, so that nothing can revive
        the member."""
        self._known[member] = i32(self.word(member) if self._words.final else UNKNOWN)
        self._left.pop(member, None)
