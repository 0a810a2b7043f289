"""The publications whose delivery trees are drawn: those asked for, or a typical one and the worst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from analysis.charts.delivery_tree import Drawing, build_tree, draw
from analysis.charts.results import Results, ResultsError
from emulator.telemetry.backend_traces import BackendTraces

LARGEST: Final = 200
"""The most deliveries of a publication that may be chosen for a drawing."""
LARGEST_ASKED: Final = 2000
"""The most deliveries of a publication that is asked for by its number."""
_BESIDE: Final = 4
"""The most variants in which an event that was asked for is drawn."""
_COLUMNS: Final = [
    "span", "parent", "message", "kind", "sender", "peer", "depth", "topic", "interested", "delivered",
    "event", "sent_s", "handled_s",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Event:
    """The deliveries of a publication, without the one to its publisher."""

    number: int
    delivered: int
    missed: list[int]
    last_ms: float
    """The time (ms) from the publication to its last delivery."""
    subscribers: set[int]


def event_trees(results: Results) -> list[Drawing]:
    """Return the trees of a run in the order in which they are shown; none if no event was delivered.

    Of delivered events with at most `LARGEST` deliveries of the first trial that has any, these are the
    median by deliveries, the same event at the same seed in another system, and the slowest. The least
    complete one of the trial with the lowest hit ratio may have reached nobody. Of several that are alike the
    one with the lowest number is taken.
    Events that were asked for by number are drawn instead, in the first trial of each variant. Raises
    ResultsError if one of them is not in the run.
    """
    if results.asked_events:
        return list(_asked(results))
    for trial in results.trials:
        events = _small(results, trial["trial"])
        if any(event.delivered for event in events):
            return [tree for tree in _typical(results, trial, events) if tree is not None]
    return []


def _typical(
    results: Results, trial: Mapping[str, Any], events: Sequence[_Event]
) -> Iterator[Drawing | None]:
    name = trial["trial"]
    shown = set[tuple[str, int]]()
    delivered = [event for event in events if event.delivered]
    count = sorted(event.delivered for event in delivered)[(len(delivered) - 1) // 2]
    median = next(event for event in delivered if event.delivered == count)
    yield _drawn(results, name, median, "the publication with the median number of deliveries")
    for rival in _rivals(results, trial):
        same = [e for e in _events(results, rival["trial"]) if e.number == median.number]
        if same and same[0].delivered <= LARGEST:
            shown.add((rival["trial"], median.number))
            yield _drawn(results, rival["trial"], same[0], "the same publication in another system")
    slowest = max(delivered, key=lambda event: event.last_ms)
    if slowest.number != median.number:
        yield _drawn(results, name, slowest, "the publication whose last delivery took longest")
    worst = _lowest_hit_ratio(results, trial)
    others = _small(results, worst) if worst != name else []
    lossy, of_lossy = (worst, others) if others else (name, events)
    least = max(of_lossy, key=lambda event: len(event.missed) / (len(event.missed) + event.delivered))
    shown |= {(name, median.number), (name, slowest.number)}
    if least.missed and (lossy, least.number) not in shown:
        yield _drawn(results, lossy, least, "the publication that reached the smallest share of its peers")


def _small(results: Results, trial: str) -> list[_Event]:
    """Return the events of a trial that can be chosen: those that were delivered or missed."""
    events = _events(results, trial)
    return [event for event in events if (event.delivered or event.missed) and event.delivered <= LARGEST]


def _lowest_hit_ratio(results: Results, first: Mapping[str, Any]) -> str:
    """Return the trial with the lowest hit ratio; the first one if none is lower."""
    told = [first, *(trial for trial in results.trials if trial["measures"])]
    ratios = [(trial, (trial["measures"] or {}).get("hit_ratio")) for trial in told]
    trial, _ = min(ratios, key=lambda each: 1.0 if each[1] is None else each[1])
    return str(trial["trial"])


def _rivals(results: Results, trial: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the first trial of the same seed and setting with another system, if systems are varied: one
    with the same parameters if there is one, else one with those of its system."""
    key = "system.name"

    def differing(other: Mapping[str, Any]) -> set[str]:
        values, own = other["values"], trial["values"]
        return {k for k in {*values, *own} - {key} if values.get(k) != own.get(k)}

    others = [
        other
        for other in results.trials
        if other["seed"] == trial["seed"]
        and other["values"].get(key) != trial["values"].get(key)
        and all(k.startswith("system.parameters") for k in differing(other))
    ]
    return sorted(others, key=lambda other: bool(differing(other)))[:1]


def check_asked_events(results: Results) -> None:
    """Raise ResultsError unless all events that were asked for are in the run and can be drawn."""
    for _ in _found(results):
        pass


def _asked(results: Results) -> Iterator[Drawing]:
    for name, event in _found(results):
        tree = _drawn(results, name, event, "the publication that was asked for")
        if tree is not None:
            yield tree


def _found(results: Results) -> Iterator[tuple[str, _Event]]:
    """Yield each event that was asked for, in the first trial of each variant. Raises ResultsError."""
    first = {trial["variant"]: trial["trial"] for trial in reversed(results.trials) if trial["measures"]}
    names = [first[v["variant"]] for v in results.variants if v["variant"] in first][:_BESIDE]
    for number in results.asked_events:
        for name in names:
            found = {event.number: event for event in _events(results, name)}
            if number not in found:
                known = f"{min(found)} to {max(found)}" if found else "none"
                raise ResultsError(f"trial {name} has no event {number}. Its events: {known}")
            event = found[number]
            if event.delivered > LARGEST_ASKED:
                raise ResultsError(
                    f"event {number} of trial {name} has {event.delivered:,} deliveries, and a tree can be "
                    f"drawn of {LARGEST_ASKED:,}. Send its trace to Jaeger or Tempo: trellis traces"
                )
            yield name, event


def _events(results: Results, trial: str) -> list[_Event]:
    """Return the publications of a trial in the order of their numbers."""
    columns = ["event", "publisher", "peer", "expected", "delivered", "delay_ms"]
    deliveries = results.table("deliveries", trial, columns)
    if deliveries is None:
        return []
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in deliveries.filter(pc.field("peer") != pc.field("publisher")).to_pylist():
        rows.setdefault(row["event"], []).append(row)
    return [
        _Event(
            number,
            sum(row["delivered"] for row in of),
            sorted(row["peer"] for row in of if row["expected"] and not row["delivered"]),
            max((row["delay_ms"] or 0.0 for row in of if row["delivered"]), default=0.0),
            {row["peer"] for row in of},
        )
        for number, of in sorted(rows.items())
    ]


def _drawn(results: Results, trial: str, event: _Event, why: str) -> Drawing | None:
    hops = _hops_of(results, trial, event.number)
    if not hops:
        return None
    for hop in hops:
        if hop["interested"] is None:
            hop["interested"] = hop["peer"] in event.subscribers
    link = _link(results, trial, hops)
    return draw(build_tree(hops), trial, event.missed, event.delivered, why, link)


def _link(results: Results, trial: str, hops: Sequence[Mapping[str, Any]]) -> str:
    """Return the address of the event's trace in a backend, "" if none was given."""
    if not results.traces_at:
        return ""
    trace = next(hop["trace"] for hop in hops if hop["parent"] is None)
    there = BackendTraces(results.run.trial(trial)).id(trace)
    return results.traces_at.replace("{trace}", there.hex())


def _hops_of(results: Results, trial: str, event: int) -> list[dict[str, Any]]:
    """Return the rows of the event's trace, and of messages about it in other traces."""
    which = (pc.field("operation") == "publish") & (pc.field("event") == event)
    operations = results.table("operations", trial, ["trace", "operation", "event"], which)
    if operations is None or not operations.num_rows:
        return []
    trace = pa.scalar(operations["trace"][0].as_py(), operations["trace"].type)
    recovers = (pc.field("event") == event) & pc.is_valid(pc.field("sender"))
    hops = results.table("hops", trial, ["trace", *_COLUMNS], (pc.field("trace") == trace) | recovers)
    rows = [] if hops is None else hops.to_pylist()
    return [row for row in rows if row["event"] in (None, event)]
