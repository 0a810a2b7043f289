"""Conditions on the states of all peers at one instant: a system declares them, an experiment asks for them.

A trial on the virtual clock looks at them every few seconds. They look and change nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Component


@mypyc_attr(allow_interpreted_subclasses=True)
class PeersUp(ABC):
    """The peers that are up at one instant."""

    @property
    @abstractmethod
    def now(self) -> float:
        """The seconds since the trial began."""

    @abstractmethod
    def parts(self, kind: type[Component]) -> Iterator[tuple[int, Any]]:
        """Yield each peer with its component of this class, in the order of the peers' numbers; a peer with
        several comes several times."""

    @abstractmethod
    def down_for(self, peer: int) -> float:
        """Return for how many seconds a peer has been down; 0 for one that is up, infinity if it never
        was."""


@dataclass(frozen=True)
class Broken:
    """A condition that does not hold."""

    peers: Sequence[int]
    """The peers at which it does not."""
    text: str
    """The words that say what is wrong."""


@dataclass(frozen=True)
class Invariant:
    """One condition on the states of peers."""

    name: str
    """The name by which experiments ask for it: lower case, digits and underscores."""
    text: str
    """The sentence that says what holds, with the paper that promises it."""
    broken: str
    """The function, as `module:function`, that returns from `PeersUp` where the condition does not hold, as
    `Broken`, or None if it holds."""
