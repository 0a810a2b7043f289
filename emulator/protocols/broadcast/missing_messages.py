"""The messages that were announced and have not come: Plumtree's `missing` and its timers (SRDS 2007,
Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from emulator.contract.protocol import Environment, Timer


class MissingMessages:
    """Announcements by message, in the order in which they came, and one timer for each message."""

    def __init__(
        self,
        environment: Environment,
        first: float,
        next_ones: float,
        ask: Callable[[int, int], None],
    ) -> None:
        """`ask(number, peer)` is called `first` seconds after the first announcement of a message, and each
        `next_ones` seconds as long as there are other announcements."""
        self._environment = environment
        self._first = first
        self._next = next_ones
        self._ask = ask
        self._announced: dict[int, list[tuple[int, int]]] = {}
        self._timers: dict[int, Timer] = {}

    def announced(self, number: int, peer: int, hops: int) -> None:
        """Note that a peer has a message, which would come from it over so many hops."""
        self._announced.setdefault(number, []).append((peer, hops))
        if number not in self._timers:
            self._wait(number, self._first)

    def arrived(self, number: int) -> list[tuple[int, int]]:
        """Stop waiting for a message. Returns who announced it and was not asked, with the hops."""
        timer = self._timers.pop(number, None)
        if timer is not None:
            timer.cancel()
        return self._announced.pop(number, [])

    def forget_peer(self, peer: int) -> None:
        """Forget the announcements of a peer."""
        for number, announced in self._announced.items():
            self._announced[number] = [each for each in announced if each[0] != peer]

    def _wait(self, number: int, delay: float) -> None:
        self._timers[number] = self._environment.set_timer(delay, partial(self._expire, number))

    def _expire(self, number: int) -> None:
        """Ask the first peer that announced the message, and wait for the next turn."""
        announced = self._announced[number]
        if not announced:
            del self._announced[number], self._timers[number]
            return
        peer, _ = announced.pop(0)
        self._wait(number, self._next)
        self._ask(number, peer)
