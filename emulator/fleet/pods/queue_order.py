"""The order of a queue of releases: by priority, then by age.

Each release has an entry, which is a Lease. The queue has places, which are Leases, too: a release that holds
one runs. A place is free once the entry of its holder is gone or has ended, and not after some time, as a
release whose program is away for an hour still runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

QUEUE = "trellis/queue"
"""The label of entries, with the name of their queue."""
PLACES = "trellis/places"
"""The label of places, with the name of their queue."""
PRIORITY, SLOTS = "trellis/priority", "trellis/slots"
STATE = "trellis/state"
PAUSED = "trellis/paused"
"""The annotation of an entry that somebody wants to pause."""
TRIALS = "trellis/trials"
"""The annotation by which the coordinator says that no trial runs: RESTING or OVER."""
RESTING, OVER = "resting", "over"

WAITING, RUNNING, PAUSING, PAUSED_NOW, ENDED = "waiting", "running", "pausing", "paused", "ended"
"""The states of an entry. One that is pausing waits for the end of the trial that runs."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A release in a queue."""

    release: str
    name: str
    """The name of its Lease."""
    uid: str
    created: str
    """The time at which the release was installed, in the cluster's form, whose order is that of times."""
    priority: int
    slots: int
    """The places that the queue has, as this release was told."""
    state: str
    paused: bool
    trials: str
    """This is RESTING or OVER if no trial runs, else ""."""
    renewed: str
    """The time at which its program last wrote here; "" before the first time."""

    @property
    def holder(self) -> str:
        """The name under which it holds a place. A release that is installed anew is another one."""
        return f"{self.release}/{self.uid}"

    @property
    def waits(self) -> bool:
        return self.state == WAITING and not self.paused and bool(self.renewed)


def entry_of(lease: Json) -> Entry:
    """Return the entry that a Lease tells of. Raises KeyError if it is none."""
    about = lease["metadata"]
    notes = about.get("annotations") or {}
    return Entry(
        about["labels"]["app.kubernetes.io/instance"],
        about["name"],
        about["uid"],
        about["creationTimestamp"],
        _number(notes.get(PRIORITY), 0),
        max(1, _number(notes.get(SLOTS), 1)),
        notes.get(STATE) or WAITING,
        notes.get(PAUSED) == "true",
        notes.get(TRIALS) or "",
        (lease.get("spec") or {}).get("renewTime") or "",
    )


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries by priority, the highest first, then by age."""
    return sorted(entries, key=lambda entry: (-entry.priority, entry.created, entry.release))


def place_name(queue: str, number: int) -> str:
    """Return the name of the Lease of a place."""
    return f"trellis-{queue}-{number}"


def held(entries: Iterable[Entry], holders: Mapping[str, str]) -> dict[str, str]:
    """Return the places that are taken, with their holders, out of those that say so."""
    alive = {entry.holder for entry in entries if entry.state != ENDED}
    return {place: holder for place, holder in holders.items() if holder in alive}


def open_place(
    me: Entry, queue: str, entries: Iterable[Entry], holders: Mapping[str, str], silent: Collection[str] = ()
) -> str | None:
    """Return the place that an entry may take now; None if it has to wait.

    `holders` are the places with their holders, and `silent` the uids of entries whose program has not been
    heard of: nobody waits behind them.
    """
    entries = list(entries)
    taken = held(entries, holders)
    names = (place_name(queue, number) for number in range(me.slots))
    free = [name for name in names if name not in taken]
    running = set(taken.values())
    line = [e for e in in_order(entries) if e.waits and e.uid not in silent and e.holder not in running]
    before = [e.uid for e in line].index(me.uid) if any(e.uid == me.uid for e in line) else len(free)
    return free[before] if before < len(free) else None


def _number(text: object, otherwise: int) -> int:
    try:
        return int(str(text))
    except ValueError:
        return otherwise
