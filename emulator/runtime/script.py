"""What peers do in a trial, in order of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from emulator.protocol import Event, Interest


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
    """What some peers do: all of a trial, or those of one host."""

    def __init__(self, steps: Iterable[Step], interests: Iterable[Held]) -> None:
        self.steps = sorted(steps, key=lambda step: step.at)
        """What a peer is to ask for while it is down is to be skipped."""
        self._held: dict[int, list[Held]] = {}
        for held in interests:
            self._held.setdefault(held.peer, []).append(held)

    def interests(self, peer: int, at: float) -> list[tuple[int, Interest]]:
        """What the peer asks for at trial time `at`, each with its number in the plan."""
        held = self._held.get(peer, ())
        return [(each.number, each.interest) for each in held if each.start <= at < each.end]

    def all_interests(self) -> list[Held]:
        """Of all peers, whenever they are held."""
        return [held for those in self._held.values() for held in those]

    def rest(self, at: float) -> list[Step]:
        """What is left to do for who begins at trial time `at`, the joins of open sessions first."""
        open_sessions: dict[int, Step] = {}
        for step in self.steps:
            if step.at >= at:
                break
            if isinstance(step.action, Join):
                open_sessions[step.peer] = step
            elif isinstance(step.action, Leave):
                open_sessions.pop(step.peer, None)
        return [*open_sessions.values(), *(step for step in self.steps if step.at >= at)]
