"""Requests that wait for their replies, in every runtime."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Timer
from emulator.messages.message import Message


@mypyc_attr(allow_interpreted_subclasses=True)
class RequestingLife(ABC):
    """One peer from a start to the next end, as far as its requests need it."""

    def __init__(self, session: int) -> None:
        self.requests: dict[int, PendingRequest] = {}
        # Numbers of requests begin anew in each session, so a late reply finds no request of this life.
        self._last_request = session << 32

    def begin_request(self, pending: PendingRequest) -> int:
        """Keep the request until it has ended, and return its number."""
        self._last_request += 1
        self.requests[self._last_request] = pending
        return self._last_request

    @abstractmethod
    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Do what `Environment.set_timer` promises."""


class PendingRequest(Timer):
    """A request that waits for its reply.

    It forgets its calls when it is over: a component often keeps the request, and on the virtual clock
    nothing collects objects that only keep each other.
    """

    def __init__(
        self,
        life: RequestingLife,
        replied: Callable[[Message], None],
        failed: Callable[[], None],
        timeout: float,
    ) -> None:
        self._replied: Callable[[Message], None] | None = replied
        self._failed: Callable[[], None] | None = failed
        self._life = life
        self.number = life.begin_request(self)
        self._timer = life.set_timer(timeout, self._overdue)

    def cancel(self) -> None:
        self._life.requests.pop(self.number, None)
        self._end()

    def hasten(self) -> None:
        self._timer.hasten()

    def answer(self, message: Message) -> None:
        """Take the reply."""
        replied = self._replied
        self._end()
        if replied is not None:
            replied(message)

    def _overdue(self) -> None:
        if self._life.requests.pop(self.number, None) is not None:
            failed = self._failed
            self._end()
            if failed is not None:
                failed()

    def _end(self) -> None:
        self._timer.cancel()
        self._replied = self._failed = None


class PendingReply:
    """A request of another peer that waits for the reply of this one."""

    __slots__ = ("_transmit",)

    def __init__(self, transmit: Callable[[Message], None]) -> None:
        """`transmit` sends the reply; the runtime sends nothing for a life that has ended."""
        self._transmit: Callable[[Message], None] | None = transmit

    def send(self, message: Message) -> None:
        """Send the reply, unless one was sent."""
        transmit, self._transmit = self._transmit, None
        if transmit is not None:
            transmit(message)
