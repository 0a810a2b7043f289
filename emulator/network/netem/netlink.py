"""Requests to the kernel's network configuration and their answers, one at a time.

pyroute2's own sockets run an event loop for each request, which a host that is in its own loop cannot wait
for. Here a request is one send and one receive, because the kernel has done the work when the send returns.
"""

from __future__ import annotations

import os
import socket
import struct
from types import TracebackType

from pyroute2.netlink import (
    NLM_F_ACK,
    NLM_F_CREATE,
    NLM_F_DUMP,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    NLM_F_REQUEST,
    NLMSG_DONE,
    NLMSG_ERROR,
    nlmsg,
)

GET = NLM_F_REQUEST | NLM_F_DUMP
NEW = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
NEW_OR_CHANGED = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE
GONE = NLM_F_REQUEST | NLM_F_ACK
_PATIENCE = 10.0
"""The seconds to wait for an answer, which is there at once unless the kernel has dropped it."""
_RECEIVE = 1 << 18
_HEADER = struct.Struct("=IHHII")


class Netlink:
    """A context manager with a socket for requests in the network namespace in which it is made."""

    def __init__(self) -> None:
        """Open the socket. Raises OSError if there is no netlink."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.settimeout(_PATIENCE)
        self._sequence = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def request(self, message: nlmsg, kind: int, flags: int) -> list[nlmsg]:
        """Let the kernel do what a message says. Returns the answers, which the message's own class decodes.

        Raises OSError with the kernel's error number if it refuses, TimeoutError if it does not answer.
        """
        self._sequence += 1
        message["header"].update(type=kind, flags=flags, sequence_number=self._sequence, pid=0)
        message.reset()
        message.encode()
        self._socket.send(message.data)
        answers: list[nlmsg] = []
        while True:
            data = self._socket.recv(_RECEIVE)
            offset = 0
            while offset < len(data):
                length, answer, _, sequence, _ = _HEADER.unpack_from(data, offset)
                if sequence == self._sequence:
                    if answer in (NLMSG_ERROR, NLMSG_DONE):
                        _check(data, offset + _HEADER.size)
                        return answers
                    found = type(message)(data, offset=offset)
                    found.decode()
                    answers.append(found)
                offset += (length + 3) & ~3


def _check(data: bytes, offset: int) -> None:
    code = -struct.unpack_from("=i", data, offset)[0]
    if code:
        raise OSError(code, os.strerror(code))
