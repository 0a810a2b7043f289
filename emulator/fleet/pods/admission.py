"""The admission of a release to a queue: it starts the pods of the release when its turn comes.

A release in a queue is installed with none of its pods but the one that runs this: its sets have no replicas
and its Job is suspended. Only the Lease of a place, taken by comparing versions, lets a release run, so there
are never more than the queue has places, however many programs look at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from emulator.fleet.pods.queue_order import (
    ENDED,
    OVER,
    PAUSED_NOW,
    PAUSING,
    RUNNING,
    STATE,
    TRIALS,
    WAITING,
    Entry,
    entry_of,
    in_order,
    open_place,
)

Json = dict[str, Any]
_SILENCE = 60.0
"""The seconds without a sign of life after which nobody waits behind an entry."""


class QueueApi(Protocol):
    """The part of the Kubernetes API that an admission needs. Its methods raise OSError."""

    def entries(self) -> list[Json]:
        """Return the Leases of all entries of the queue."""

    def holders(self) -> dict[str, str]:
        """Return the places that there are, with their holders; "" is none."""

    def take(self, place: str, holder: str) -> bool:
        """Make `holder` the one of a place, unless it has changed since `holders`. Returns whether it did."""

    def note(self, entry: str, annotations: Mapping[str, str | None]) -> None:
        """Write annotations of an entry, with the time; None removes one."""

    def scale(self, workload: str, replicas: int) -> None:
        """Change the number of pods of a workload, such as "statefulsets/demo-peers-0"."""

    def suspend(self, suspended: bool) -> None:
        """Suspend the Job of the analysis, or let it run."""

    def job_ended(self) -> bool:
        """Return whether the Job of the analysis has ended, well or not."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """The workloads of a release with their pods, such as {"statefulsets/demo-peers-0": 20}."""

    trials: Mapping[str, int]
    """The workloads that only trials need."""
    lasting: Mapping[str, int]
    """The workloads that stay when the release has ended, so that its results can be read."""


@dataclass
class Admission:
    """One release in a queue; `step` is called every few seconds."""

    api: QueueApi
    entry: str
    queue: str
    workloads: Workloads
    conducted: bool
    """This is true if a coordinator conducts the trials, which then end before a pause."""
    say: Callable[[str], None] = print
    clock: Callable[[], float] = time.monotonic
    _open: bool | None = field(default=None, init=False)
    """This is true if the release's pods are to run, and None before this program has looked."""
    _over: bool = field(default=False, init=False)
    _seen: dict[str, tuple[str, float]] = field(default_factory=dict, init=False)
    """The last sign of life of each entry, and when it was new here: clocks of nodes may differ."""
    _said: str = field(default="", init=False)

    def step(self) -> bool:
        """Look, and do what follows. Returns whether the release has ended or was removed. Raises OSError."""
        entries = [entry_of(lease) for lease in self.api.entries()]
        me = next((entry for entry in entries if entry.name == self.entry), None)
        if me is None:
            self._tell("the release is removed")
            return True
        holders = self.api.holders()
        mine = next((place for place, holder in holders.items() if holder == me.holder), None)
        if self.api.job_ended():
            self._end(mine)
            return True
        if mine is None:
            self._wait(me, entries, holders)
        elif not me.paused:
            self._run(me)
        elif self.conducted and not me.trials:
            self._note(PAUSING)
        else:
            self._shut()
            self._note(PAUSED_NOW)
            self.api.take(mine, "")
        return False

    def _wait(self, me: Entry, entries: list[Entry], holders: Mapping[str, str]) -> None:
        if self._open is not False:
            self._shut()  # a program that ended half-way through a pause may have left pods
        if me.paused:
            self._note(PAUSED_NOW)
            return
        self._note(WAITING)
        if me.state != WAITING or not me.renewed:
            return  # the others have to see it wait before it counts
        place = open_place(me, self.queue, entries, holders, self._silent(entries))
        if place is None:
            line = [e.release for e in in_order(entries) if e.waits]
            self._tell(f"waiting in the queue {self.queue}, {line.index(me.release) + 1} of {len(line)}")
        elif self.api.take(place, me.holder):
            self._tell(f"admitted: it has the place {place}")
            self._run(me)

    def _run(self, me: Entry) -> None:
        anew = me.state not in (RUNNING, PAUSING)
        over = me.trials == OVER and not anew
        stale = {TRIALS: None} if me.trials and not over else {}
        self.api.note(self.entry, {STATE: RUNNING, **stale})
        if not self._open:
            for workload, replicas in self.workloads.lasting.items():
                self.api.scale(workload, replicas)
            for workload, replicas in self.workloads.trials.items():
                self.api.scale(workload, 0 if over else replicas)
            self.api.suspend(False)
            self._open = True
        elif over and not self._over:
            self._release_hosts()
        self._over = over

    def _shut(self) -> None:
        self.api.suspend(True)
        for workload in (*self.workloads.trials, *self.workloads.lasting):
            self.api.scale(workload, 0)
        self._open = False

    def _end(self, mine: str | None) -> None:
        self._release_hosts()
        self._note(ENDED)
        if mine is not None:
            self.api.take(mine, "")
        self._tell("the run has ended")

    def _release_hosts(self) -> None:
        for workload in self.workloads.trials:
            self.api.scale(workload, 0)

    def _silent(self, entries: list[Entry]) -> set[str]:
        """Return the uids of entries that have given no sign of life for a while."""
        now = self.clock()
        for entry in entries:
            if self._seen.get(entry.uid, ("", 0.0))[0] != entry.renewed:
                self._seen[entry.uid] = entry.renewed, now
        return {uid for uid, (_, since) in self._seen.items() if now - since > _SILENCE}

    def _note(self, state: str) -> None:
        self.api.note(self.entry, {STATE: state})
        if state != WAITING:
            self._tell(state)

    def _tell(self, text: str) -> None:
        if text != self._said:
            self.say(text)
            self._said = text
