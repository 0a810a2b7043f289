"""The actions of peers in a trial, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from emulator.contract.workload import Held, Holding, Operation

PLAIN: Final = "peer"
"""The role of a peer for which the plan gives none."""


@dataclass(frozen=True, slots=True)
class Join:
    session: int


@dataclass(frozen=True, slots=True)
class Leave:
    session: int
    graceful: bool


@dataclass(frozen=True, slots=True)
class GoDown:
    """The action in which a peer crashes and keeps its state, by a fault of this index."""

    fault: int


@dataclass(frozen=True, slots=True)
class ComeBack:
    """The action in which a peer that went down by a fault goes on with the state that it had."""

    session: int
    fault: int


@dataclass(frozen=True, slots=True)
class TakeUp:
    """The action in which a peer takes something up, which it holds from now on."""

    what: Holding


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The action in which a peer gives up something that it held."""

    what: Holding


Action = Join | Leave | GoDown | ComeBack | TakeUp | GiveUp | Operation


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a peer; `at` is s of trial time."""

    at: float
    peer: int
    action: Action


class Script:
    """The actions of some peers: all of a trial, or those of one host."""

    def __init__(
        self,
        steps: Iterable[Step],
        held: Iterable[Held],
        roles: Mapping[int, str] | None = None,
        attackers: Iterable[int] = (),
        identifiers: Mapping[int, int] | None = None,
        processing: Mapping[int, int] | None = None,
    ) -> None:
        """Order the steps by time. `roles` are those of the peers that are not plain ones, `identifiers`
        those of the peers that have chosen theirs, and `processing` the classes of those that are not of the
        first one."""
        self.steps = sorted(steps, key=lambda step: step.at)
        """The steps in the order of time; those of a peer that is down are to be skipped."""
        self.keeps_states = any(isinstance(step.action, ComeBack) for step in self.steps)
        """This is true if some peers crash and keep their state."""
        self.roles = dict(roles or {})
        self.attackers = frozenset(attackers)
        """The peers that behave badly."""
        self.identifiers = dict(identifiers or {})
        self.processing = dict(processing or {})
        self._held: dict[int, list[Held]] = {}
        for each in held:
            self._held.setdefault(each.peer, []).append(each)

    def role(self, peer: int) -> str:
        """Return the role that the plan gives the peer."""
        return self.roles.get(peer, PLAIN)

    def held_by(self, peer: int, at: float) -> list[Holding]:
        """Return what the peer holds at trial time `at`."""
        return [each.what for each in self._held.get(peer, ()) if each.start <= at < each.end]

    def all_of(self, peer: int) -> list[Held]:
        """Return what the peer holds at any time."""
        return self._held.get(peer, [])

    def all_held(self) -> list[Held]:
        """Return what all peers hold at any time."""
        return [held for those in self._held.values() for held in those]

    def rest(self, at: float) -> list[Step]:
        """Return the steps that are left from trial time `at` on, the joins of open sessions first."""
        open_sessions: dict[int, Step] = {}
        for step in self.steps:
            if step.at >= at:
                break
            if isinstance(step.action, (Join, ComeBack)):
                open_sessions[step.peer] = step
            elif isinstance(step.action, (Leave, GoDown)):
                open_sessions.pop(step.peer, None)
        return [*open_sessions.values(), *(step for step in self.steps if step.at >= at)]
