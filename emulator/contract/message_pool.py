"""Messages as rows: what a component sends so often that an object for each would cost most of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mypy_extensions import i64, mypyc_attr

from emulator.messages.message import Message


@mypyc_attr(allow_interpreted_subclasses=True)
class MessagePool(ABC):
    """The messages of one type that the peers of a host send on one channel, as rows of packed columns.

    A row stands for a message, and like a message it is not changed once it was sent. A runtime that passes
    rows on hands them to `receive`; any other sends the message itself, which `view` makes, so the type needs
    a handler as every type does. Who keeps a row holds it; what nobody holds any longer is used again.
    """

    def __init__(self) -> None:
        self.number: i64 = -1
        """The runtime's number of this pool, -1 before it has one."""

    @abstractmethod
    def byte_size(self, row: i64) -> i64:
        """Return the length of the encoded message, in bytes."""

    @abstractmethod
    def view(self, row: i64) -> Message:
        """Return the message that the row stands for."""

    @abstractmethod
    def hold(self, row: i64) -> None:
        """Keep a row once more."""

    @abstractmethod
    def release(self, row: i64) -> None:
        """Keep a row once less."""

    @abstractmethod
    def leave(self, peer: i64) -> None:
        """Forget the component of `peer`, which is down."""

    @abstractmethod
    def receive(self, peer: i64, sender: i64, row: i64, now: float) -> bool:
        """Hand a row to the component of `peer` on the pool's channel. Returns whether there is one.

        `now` is the trial time in seconds.
        """
