"""The time that a suspected member has to speak for itself: SWIM, section 4.2; Lifeguard's LHA-Suspicion."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from mypy_extensions import i64

from emulator.contract.protocol import Environment, Timer


class Suspicion:
    """One suspicion."""

    __slots__ = ("accusers", "begun", "least", "most", "timer", "wanted", "word")

    def __init__(self, word: i64, accuser: i64, wanted: int, least: float, most: float, begun: float) -> None:
        self.word = word
        """The word of the member by which it is suspected."""
        self.accusers = [accuser]
        """The members that suspected it independently."""
        self.wanted = wanted
        """The number of further accusers with whom the time-out is the shortest."""
        self.least = least
        """The shortest time-out (s)."""
        self.most = most
        """The longest time-out (s)."""
        self.begun = begun
        self.timer: Timer | None = None

    def timeout(self) -> float:
        """Return the seconds from the beginning until the member counts as failed.

        With C confirmations of K, max(min, max - (max - min) log(C + 1) / log(K + 1)) (Lifeguard).
        """
        if not self.wanted:
            return self.least
        confirmed = len(self.accusers) - 1
        share = math.log(confirmed + 1) / math.log(self.wanted + 1)
        return max(self.least, self.most - (self.most - self.least) * share)


class Suspicions:
    """All suspicions of one member."""

    def __init__(self, environment: Environment, expired: Callable[[int, i64], None]) -> None:
        """Call `expired` with a member, and the word that it is suspected by, when its time is over."""
        self._environment = environment
        self._expired = expired
        self._of: dict[int, Suspicion] = {}

    def begin(self, member: int, word: i64, accuser: i64, wanted: int, least: float, most: float) -> None:
        """Suspect a member; its time-out is at least `least` and at most `most` seconds."""
        suspicion = Suspicion(word, accuser, wanted, least, most, self._environment.now)
        self._of[member] = suspicion
        self._set(member, suspicion, suspicion.timeout())

    def confirm(self, member: int, accuser: int) -> bool:
        """Take a suspicion from another accuser. Returns whether it is news, which is passed on."""
        suspicion = self._of.get(member)
        if suspicion is None or accuser in suspicion.accusers:
            return False
        if len(suspicion.accusers) > suspicion.wanted:
            return False
        suspicion.accusers.append(accuser)
        passed = self._environment.now - suspicion.begun
        self._set(member, suspicion, max(0.0, suspicion.timeout() - passed))
        return True

    def end(self, member: int) -> None:
        """Suspect a member no longer."""
        suspicion = self._of.pop(member, None)
        if suspicion is not None and suspicion.timer is not None:
            suspicion.timer.cancel()

    def _set(self, member: int, suspicion: Suspicion, delay: float) -> None:
        if suspicion.timer is not None:
            suspicion.timer.cancel()
        suspicion.timer = self._environment.set_timer(delay, partial(self._over, member, suspicion))

    def _over(self, member: int, suspicion: Suspicion) -> None:
        if self._of.get(member) is suspicion:
            self._expired(member, suspicion.word)
