"""The contract of systems that store values by key."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Application

PUT: Final = "put"
"""The operation in which a peer stores a version of a value."""
GET: Final = "get"
"""The operation in which a peer asks for a value."""
SERVED: Final = "value_served"
"""The observation of a peer that answered a get with the value that it holds."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ValueService(Application):
    """A store of values at one peer.

    The peer that was asked delivers a `Completion` of `PUT` or `GET` with the operation's number, once.
    """

    @abstractmethod
    def put(self, number: int, key: int, version: int, payload: bytes) -> None:
        """Store a value; a later version replaces an earlier one.

        The value of the completion is the number of copies that peers have confirmed. Without any confirmed
        copy there is no completion.
        """

    @abstractmethod
    def get(self, number: int, key: int) -> None:
        """Find the value of a key.

        The value of the completion is the version that was found, or 0 if the system says that there is none.
        """
