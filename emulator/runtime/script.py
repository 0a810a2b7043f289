"""The actions of peers in a trial, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from emulator.contract.protocol import Event, Interest

PLAIN: Final = "peer"
"""The role of a peer of which the plan says nothing."""


@dataclass(frozen=True, slots=True)
class Join:
    session: int


@dataclass(frozen=True, slots=True)
class Leave:
    session: int
    graceful: bool


@dataclass(frozen=True, slots=True)
class Subscribe:
    number: int
    """The interest's in the plan."""
    interest: Interest


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    number: int
    """The interest's in the plan."""
    interest: Interest


@dataclass(frozen=True, slots=True)
class Publish:
    event: Event


@dataclass(frozen=True, slots=True)
class LookUp:
    number: int
    key: int


Action = Join | Leave | Subscribe | Unsubscribe | Publish | LookUp


@dataclass(frozen=True, slots=True)
class Step:
    """One action; `at` is s of trial time."""

    at: float
    peer: int
    action: Action


@dataclass(frozen=True, slots=True)
class Held:
    """An interest of a peer from `start` to `end` (s of trial time)."""

    peer: int
    start: float
    end: float
    number: int
    """In the plan."""
    interest: Interest


class Script:
    """The actions of some peers: all of a trial, or those of one host."""

    def __init__(
        self, steps: Iterable[Step], interests: Iterable[Held], roles: Mapping[int, str] | None = None
    ) -> None:
        """`roles` are those of the peers that are not plain ones."""
        self.steps = sorted(steps, key=lambda step: step.at)
        """Steps of a peer that is down are to be skipped."""
        self.roles = dict(roles or {})
        self._held: dict[int, list[Held]] = {}
        for held in interests:
            self._held.setdefault(held.peer, []).append(held)

    def role(self, peer: int) -> str:
        """The role that the plan gives the peer."""
        return self.roles.get(peer, PLAIN)

    def interests(self, peer: int, at: float) -> list[tuple[int, Interest]]:
        """The peer's interests at trial time `at`, each with its number in the plan."""
        held = self._held.get(peer, ())
        return [(each.number, each.interest) for each in held if each.start <= at < each.end]

    def all_interests(self) -> list[Held]:
        """The interests of all peers, whenever they are held."""
        return [held for those in self._held.values() for held in those]

    def rest(self, at: float) -> list[Step]:
        """The steps that are left from trial time `at` on, the joins of open sessions first."""
        open_sessions: dict[int, Step] = {}
        for step in self.steps:
            if step.at >= at:
                break
            if isinstance(step.action, Join):
                open_sessions[step.peer] = step
            elif isinstance(step.action, Leave):
                open_sessions.pop(step.peer, None)
        return [*open_sessions.values(), *(step for step in self.steps if step.at >= at)]
