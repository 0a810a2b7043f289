"""Looks at the invariants of a system while a trial runs on the virtual clock."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from emulator.contract.invariants import Broken, Invariant, PeersUp
from emulator.contract.protocol import Component
from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.invariants_spec import Held
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import KEPT, Plan
from emulator.experiment.run.directory import TrialDirectory, write_whole
from emulator.experiment.run.fidelity import INVARIANTS_BROKEN, Check
from emulator.runtime.virtual.event_loop import VirtualWorld

_BEFORE_S = 10.0
"""The seconds before a broken invariant whose joins, departures and faults are told."""
_TOLD = 10
"""The most events that are told, and the most times that one invariant is."""


@dataclass(frozen=True, slots=True)
class BrokenAt:
    """An invariant that did not hold when it was looked at."""

    invariant: str
    """The text of the experiment: the name, and perhaps the part of the trial."""
    at_s: float
    peers: Sequence[int]
    text: str
    before: Sequence[str]
    """The last fault that had ended earlier, those that had begun earlier and held, and what happened in the
    last seconds before."""


class _Lives(PeersUp):
    """The peers of a world, with the sessions of its plan."""

    def __init__(self, world: VirtualWorld, sessions: Mapping[int, Sequence[tuple[float, float]]]) -> None:
        self._world = world
        self._sessions = sessions

    @property
    def now(self) -> float:
        return self._world.time

    def parts(self, kind: type[Component]) -> Iterator[tuple[int, Any]]:
        for peer, life in self._world.lives_up():
            for _, component in life.components():
                # Compiled abstract classes share one cache of isinstance, which would tell wrongly later.
                if kind in type(component).__mro__:
                    yield peer, component

    def down_for(self, peer: int) -> float:
        now = self.now
        begun = [session for session in self._sessions.get(peer, ()) if session[0] <= now]
        if not begun:
            return math.inf
        return max(now - begun[-1][1], 0.0)


class InvariantWatch:
    """The looks at the invariants that a trial asks for."""

    def __init__(self, world: VirtualWorld, spec: TrialSpec, plan: Plan) -> None:
        """Plan the looks at this world. Raises ValueError for a part that the trial does not have."""
        assert spec.invariants is not None
        self._spec = spec
        self._world = world
        self._known = {invariant.name: invariant for invariant in SYSTEMS[spec.system.name].invariants}
        asked = spec.invariants.hold or list(self._known)
        self._held = [Held.parse(text) for text in asked]
        self._sessions = _sessions(plan)
        self._events = _events(spec, plan)
        self.found: list[BrokenAt] = []
        self.looks = {held.text: 0 for held in self._held}
        begins, ends = spec.phases.measured
        every = spec.invariants.every
        for index in range(math.floor((ends - begins) / every) + 1):
            world.call_at(begins + index * every, self._look)

    @property
    def is_over(self) -> bool:
        """This is true if the trial is to end, because an invariant was broken."""
        return bool(self.found) and self._spec.invariants is not None and self._spec.invariants.stop

    def checks(self) -> list[Check]:
        """Return the check that says why the trial ended early; none if it did not."""
        if not self.is_over:
            return []
        first = self.found[0]
        detail = f"{first.invariant} at {first.at_s:g} s, when the trial was ended: {first.text}"
        return [Check(INVARIANTS_BROKEN, len(self.found), 0, "invariants", detail)]

    def write(self, directory: TrialDirectory) -> None:
        """Write what was found to the trial's `invariants.json`. Raises OSError."""
        told = {"looks": self.looks, "broken": [asdict(each) for each in self.found]}
        write_whole(directory.invariants, json.dumps(told, indent=2) + "\n")

    def _look(self) -> None:
        now, spec = self._world.time, self._spec
        lives = _Lives(self._world, self._sessions)
        for held in self._held:
            begins, ends = spec.phases.measured
            if held.part is not None:
                begins, ends = held.part.window(spec.phases.measured, spec.windows)
            if not begins <= now < ends or self.is_over:
                continue
            self.looks[held.text] += 1
            self._judge(held, self._known[held.name], lives)

    def _judge(self, held: Held, invariant: Invariant, lives: PeersUp) -> None:
        module, _, name = invariant.broken.partition(":")
        broken: Broken | None = getattr(import_module(module), name)(lives)
        if broken is not None and sum(each.invariant == held.text for each in self.found) < _TOLD:
            now = lives.now
            peers = sorted(int(peer) for peer in broken.peers)
            self.found.append(BrokenAt(held.text, now, peers, broken.text, self._before(now)))

    def _before(self, now: float) -> list[str]:
        last = bisect_right(self._events, (now, chr(0x10FFFF)))
        since = now - _BEFORE_S
        recent = [f"{at:g} s: {text}" for at, text in self._events[:last] if at >= since]
        holding = [fault for fault in self._spec.faults if fault.begins < since and now < fault.ends]
        told = [f"since {fault.begins:g} s: fault {fault.name}" for fault in holding] + recent[-_TOLD:]
        ended = [fault for fault in self._spec.faults if fault.ends < since]
        if ended:
            last_one = max(ended, key=lambda fault: fault.ends)
            told.insert(0, f"until {last_one.ends:g} s: fault {last_one.name}")
        return told


def _sessions(plan: Plan) -> dict[int, list[tuple[float, float]]]:
    found: dict[int, list[tuple[float, float]]] = {}
    for row in plan.sessions.select(["peer", "start_s", "end_s"]).to_pylist():
        found.setdefault(row["peer"], []).append((row["start_s"], row["end_s"]))
    return found


def _events(spec: TrialSpec, plan: Plan) -> list[tuple[float, str]]:
    """Return what the plan has happen to peers and the network: trial time (s) and words, in order."""
    events = []
    for row in plan.sessions.to_pylist():
        begins = "joins" if row.get(KEPT.name) is None else "comes back"
        events.append((row["start_s"], f"peer {row['peer']} {begins}"))
        if row["end_s"] < spec.phases.end:
            events.append((row["end_s"], f"peer {row['peer']} {'leaves' if row['graceful'] else 'crashes'}"))
    for fault in spec.faults:
        events.append((fault.begins, f"fault {fault.name} begins"))
        if not math.isinf(fault.ends):
            events.append((fault.ends, f"fault {fault.name} ends"))
    return sorted(events)
