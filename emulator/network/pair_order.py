"""The order of messages between two peers, which over one connection cannot overtake each other."""

from __future__ import annotations

from typing import Final

_ROOM: Final = 1024
"""The pairs that are kept before those are forgotten whose messages have all arrived."""


class PairOrder:
    """The last arrival of each ordered pair of peers that has messages on their way.

    Times are whole numbers of one unit.
    """

    __slots__ = ("_last", "_room")

    def __init__(self) -> None:
        self._last: dict[int, int] = {}
        self._room = _ROOM

    def __len__(self) -> int:
        return len(self._last)

    def arrival(self, sender: int, receiver: int, at: int, now: int) -> int:
        """Return when a message arrives that would arrive at `at`: not before an earlier one of its pair.

        Calls are in the order of `now`, which is not after `at`.
        """
        pair = sender << 32 | receiver
        arrives = max(at, self._last.get(pair, at))
        self._last[pair] = arrives
        if len(self._last) > self._room:
            self._forget(now)
        return arrives

    def _forget(self, now: int) -> None:
        """Forget the pairs whose messages have all arrived, which delay nothing any more."""
        self._last = {pair: last for pair, last in self._last.items() if last > now}
        self._room = max(_ROOM, 2 * len(self._last))
