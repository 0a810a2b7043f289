"""Requests of one peer that are routed to the roots of keys, and again until an answer comes."""

from __future__ import annotations

from functools import partial

from emulator.contract.protocol import Environment, Message, Overlay, Timer


class OwnRequests:
    """The puts, or the gets, of one peer that are under way."""

    def __init__(self, environment: Environment, overlay: Overlay, timeout: float, tries: int) -> None:
        self._environment = environment
        self._overlay = overlay
        self._timeout = timeout
        self._tries = tries
        self._waiting: dict[int, Timer] = {}

    def ask(self, number: int, key: int, message: Message) -> None:
        """Route the message to the key, up to the number of tries, a time-out apart."""
        self._send(number, key, message, self._tries)

    def answered(self, number: int) -> bool:
        """Note an answer. Returns whether it was still waited for."""
        timer = self._waiting.pop(number, None)
        if timer is None:
            return False
        timer.cancel()
        return True

    def _send(self, number: int, key: int, message: Message, tries: int) -> None:
        if tries == 0:
            del self._waiting[number]
            return
        again = partial(self._send, number, key, message, tries - 1)
        self._waiting[number] = self._environment.set_timer(self._timeout, again)
        self._overlay.route(key, message)
