"""The actions of peers in a trial, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from emulator.contract.workload import Held, Holding, Operation

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
class TakeUp:
    """A peer holds something from now on."""

    what: Holding


@dataclass(frozen=True, slots=True)
class GiveUp:
    """A peer holds something no more."""

    what: Holding


Action = Join | Leave | TakeUp | GiveUp | Operation


@dataclass(frozen=True, slots=True)
class Step:
    """One action; `at` is s of trial time."""

    at: float
    peer: int
    action: Action


class Script:
    """The actions of some peers: all of a trial, or those of one host."""

    def __init__(
        self, steps: Iterable[Step], held: Iterable[Held], roles: Mapping[int, str] | None = None
    ) -> None:
        """`roles` are those of the peers that are not plain ones."""
        self.steps = sorted(steps, key=lambda step: step.at)
        """Steps of a peer that is down are to be skipped."""
        self.roles = dict(roles or {})
        self._held: dict[int, list[Held]] = {}
        for each in held:
            self._held.setdefault(each.peer, []).append(each)

    def role(self, peer: int) -> str:
        """The role that the plan gives the peer."""
        return self.roles.get(peer, PLAIN)

    def held_by(self, peer: int, at: float) -> list[Holding]:
        """What the peer holds at trial time `at`."""
        return [each.what for each in self._held.get(peer, ()) if each.start <= at < each.end]

    def all_held(self) -> list[Held]:
        """What all peers hold, whenever they do."""
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
