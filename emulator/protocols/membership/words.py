"""Words pack what a member knows of another one into a number: the larger number is the later word."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from trellis.v1.swim import MemberUpdate

ALIVE: Final = 0
SUSPECTED: Final = 1
FAILED: Final = 2
LEFT: Final = 3
UNKNOWN: Final[i64] = 0
"""The word of a member that was never heard of."""
WORD_BITS: Final[i64] = 30
_LIVES: Final[i64] = 1 << 12
_INCARNATIONS: Final[i64] = 1 << 15
_LIFE: Final[i64] = 17
_OVER: Final[i64] = 1 << 16


class Words:
    """The order in which words about a member override each other.

    A later life overrides an earlier one. Within a life, SWIM (section 4.2) has the higher incarnation
    override the lower one, a suspicion override `alive` of the same incarnation, and a confirm, which says
    that a member has failed or left, override everything. If failures are not final, as in memberlist, the
    higher incarnation overrides a failure as well, and of the same one a failure overrides a suspicion.
    A word takes `WORD_BITS` bits.
    """

    def __init__(self, final: bool) -> None:
        self.final = final

    def pack(self, update: MemberUpdate) -> i64:
        """Return the word of an update, `UNKNOWN` if its numbers are out of range."""
        life: i64 = update.life
        incarnation: i64 = update.incarnation
        state: i64 = update.state
        if life >= _LIVES or incarnation >= _INCARNATIONS or state > LEFT:
            return UNKNOWN
        if not self.final:
            return 1 + (life << _LIFE | incarnation << 2 | state)
        if state >= FAILED:
            return 1 + (life << _LIFE | _OVER | (state - FAILED))
        return 1 + (life << _LIFE | incarnation << 1 | state)

    def state(self, word: i64) -> i64:
        """Return the state that a word tells."""
        told = word - 1
        if not self.final:
            return told & 3
        return FAILED + (told & 1) if told & _OVER else told & 1

    def is_over(self, word: i64) -> bool:
        """Return whether a word says that the member has failed or left."""
        return self.state(word) >= FAILED

    def incarnation(self, word: i64) -> i64:
        """Return the incarnation that a word tells; 0 for a final failure, which names none."""
        told = word - 1
        if not self.final:
            return (told >> 2) & (_INCARNATIONS - 1)
        return 0 if told & _OVER else (told >> 1) & (_INCARNATIONS - 1)

    def life(self, word: i64) -> i64:
        """Return the life that a word is about."""
        return (word - 1) >> _LIFE

    def update(self, member: i64, word: i64, accuser: i64 = 0) -> MemberUpdate:
        """Return the update that tells a word."""
        life, incarnation, state = self.life(word), self.incarnation(word), self.state(word)
        return MemberUpdate(member, life, incarnation, state, accuser)
