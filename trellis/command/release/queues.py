"""The queues of releases in a namespace, as their Leases tell of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from emulator.fleet.pods.queue_order import ENDED, PAUSED, PLACES, QUEUE, Entry, entry_of, in_order
from trellis.command.release.cluster import Cluster, Json
from trellis.command.release.errors import NotThere, ReleaseError

_LEASES = "apis/coordination.k8s.io/v1"
_SILENCE = 60.0


@dataclass(frozen=True, slots=True)
class Queued:
    """A release in a queue as it was when the cluster was asked."""

    queue: str
    entry: Entry
    line: int | None
    """Its number among those that wait, from 1; None if it does not wait."""
    place: str
    """The place that it holds, or ""."""
    age: float
    """The seconds since it was installed."""
    silence: float
    """The seconds since its program last wrote; that program may be away, or its pod not started yet."""

    @property
    def told(self) -> str:
        """The state, as a user is told of it."""
        if self.entry.state == "paused" and not self.entry.paused:
            return "waiting"
        if self.silence > _SILENCE and self.entry.state != ENDED:
            return f"{self.entry.state}, not heard of for {self.silence:.0f} s"
        return self.entry.state


def queued(cluster: Cluster, queue: str | None = None) -> list[Queued]:
    """Return the releases of a queue, or of all queues: those with a place, those that wait in their order,
    and the others.

    Raises ReleaseError.
    """
    selector = f"{QUEUE}={queue}" if queue else QUEUE
    leases = cluster.objects(_LEASES, "leases", labelSelector=selector)
    places = cluster.objects(_LEASES, "leases", labelSelector=selector.replace(QUEUE, PLACES))
    holders = {
        str((lease.get("spec") or {}).get("holderIdentity") or ""): str(lease["metadata"]["name"])
        for lease in places
    }
    found: dict[str, list[Entry]] = {}
    for lease in leases:
        found.setdefault(lease["metadata"]["labels"][QUEUE], []).append(entry_of(lease))
    now = datetime.now(UTC)
    return [each for name in sorted(found) for each in _in_queue(name, found[name], holders, now)]


def set_paused(cluster: Cluster, release: str, paused: bool) -> None:
    """Ask the program of a release in a queue to pause, or to go on. Raises ReleaseError."""
    change = {"metadata": {"annotations": {PAUSED: "true" if paused else None}}}
    try:
        cluster.patch(_LEASES, "leases", f"{release}-queue", change)
    except NotThere:
        raise ReleaseError(
            f"{release} is in no queue of the namespace {cluster.namespace}, and only releases in a queue "
            "can be paused. Install with --queue, or --set queue.enabled=true; see: trellis queue"
        ) from None


def _in_queue(name: str, entries: list[Entry], holders: dict[str, str], now: datetime) -> Iterator[Queued]:
    line = [entry.uid for entry in in_order(entries) if entry.waits and entry.holder not in holders]
    ordered = sorted(
        in_order(entries),
        key=lambda e: (e.holder not in holders, e.uid not in line, e.state == ENDED),
    )
    for entry in ordered:
        number = line.index(entry.uid) + 1 if entry.uid in line else None
        yield Queued(
            name,
            entry,
            number,
            holders.get(entry.holder, ""),
            _since(entry.created, now),
            _since(entry.renewed or entry.created, now),
        )


def _since(time: str, now: datetime) -> float:
    return max(0.0, (now - datetime.fromisoformat(time)).total_seconds())


def fields(each: Queued) -> Json:
    """Return a release in a queue for JSON."""
    return {
        "queue": each.queue,
        "release": each.entry.release,
        "state": each.entry.state,
        "paused": each.entry.paused,
        "priority": each.entry.priority,
        "line": each.line,
        "place": each.place or None,
        "age_s": round(each.age, 3),
        "silent_s": round(each.silence, 3),
    }
