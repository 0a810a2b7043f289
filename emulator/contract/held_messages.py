"""A message pool of message objects, each of which stays as long as anybody holds it."""

from __future__ import annotations

from typing import Generic, TypeVar

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.contract.message_pool import MessagePool
from emulator.messages.message import Message

M = TypeVar("M", bound=Message)


class HeldMessages(MessagePool, Generic[M]):
    """Messages that are sent again and again: who has a row that it had before need not read the message."""

    def __init__(self) -> None:
        super().__init__()
        self._messages: list[M | None] = []
        self._sizes = vec[i64]()
        self._holders = vec[i64]()
        self._free: list[int] = []

    def put(self, message: M) -> i64:
        """Return a row for a message, which the caller holds: a free one, or else the next number."""
        if self._free:
            row = i64(self._free.pop())
            self._messages[int(row)] = message
        else:
            row = len(self._messages)
            self._messages.append(message)
            self._sizes = append(self._sizes, i64(0))
            self._holders = append(self._holders, i64(0))
        self._sizes[row] = i64(message.byte_size())
        self._holders[row] = 1
        return row

    def byte_size(self, row: i64) -> i64:
        return self._sizes[row]

    def view(self, row: i64) -> M:
        message = self._messages[int(row)]
        assert message is not None, "nobody holds the message"
        return message

    def hold(self, row: i64) -> None:
        self._holders[row] += 1

    def release(self, row: i64) -> None:
        self._holders[row] -= 1
        if self._holders[row] == 0:
            self._messages[int(row)] = None
            self._free.append(int(row))

    def held(self) -> int:
        """Return the number of messages that anybody holds."""
        return len(self._messages) - len(self._free)
