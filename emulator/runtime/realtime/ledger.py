"""The ledger of one stream between two hosts: what was written to it and has not arrived for certain."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from emulator.runtime.realtime.sent_message import Passage

_MOST = 20_000
"""The most envelopes that are kept until the other host has told that it took them."""


class Ledger:
    """Both directions of one stream, counted in envelopes."""

    def __init__(self) -> None:
        self.taken = 0
        """The envelopes that came over the stream."""
        self.told = 0
        """The envelopes of these that the other host was told of."""
        self._unsettled: deque[Passage] = deque()
        self._settled = 0

    @property
    def owes(self) -> bool:
        """This is true if the other host is to be told what came."""
        return self.taken != self.told

    def write(self, passages: Sequence[Passage]) -> None:
        """Take note of what is written; beyond a limit, what was written first is no longer kept."""
        self._unsettled.extend(passages)
        while len(self._unsettled) > _MOST:
            self._unsettled.popleft()
            self._settled += 1

    def settle(self, taken: int) -> None:
        """Forget what the other host has taken, which is so many envelopes in all."""
        while self._unsettled and self._settled < taken:
            self._unsettled.popleft()
            self._settled += 1

    def unsettled(self) -> list[Passage]:
        """Take what may not have arrived, when the stream has broken."""
        left = [*self._unsettled]
        self._unsettled.clear()
        return left
