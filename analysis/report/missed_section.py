"""The section of the report that tells when deliveries were missed, and whether their events got anywhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import pyarrow.compute as pc

from analysis.charts.numerals import number
from analysis.charts.results import Results
from analysis.charts.time_line import Mark
from analysis.contract.figures import Block, Rows, Section, Text
from analysis.report.figures_time import moments_of
from analysis.report.over_seeds import mean_text, seeds, told

_GRACE_S: Final = 10
"""The seconds by which a peer must have joined before an event that is expected to reach it."""
_ABOUT: Final = (
    "The expected deliveries that were not made, by when their events were published, and by whether a copy "
    "of the event arrived at any peer but its publisher, relays included. Where none did, the event was "
    "never sent, or lost at its first hop. Peers that had joined less than 10 s before are not expected to "
    "get an event, and the hit ratio does not count them: what they missed is known of topics alone."
)
_COLUMNS: Final = ("When", "Missed", "A copy arrived somewhere", "No copy arrived anywhere")
_LATE: Final = f"joined less than {_GRACE_S} s before"
_OTHERWISE: Final = "otherwise"
_DUE: Final = re.compile(r"due_after_(\d+)_s")

Counts = tuple[int, int]
"""The numbers of missed deliveries of events that arrived somewhere, and of those that arrived nowhere."""


def _write(results: Results) -> Iterator[Block]:
    if not results.has("deliveries"):
        return
    about = {trial["trial"]: trial for trial in results.trials}
    marks = {each["variant"]: list(moments_of(results, each)) for each in results.variants}
    rows: list[tuple[str, ...]] = []
    for label, trials in seeds(results):
        lines = list[tuple[str, ...]]()
        late = [_late(about[trial]["measures"]) for trial in trials]
        if any(late):
            lines.append((_LATE, mean_text(late), number(None), number(None)))
        of_seeds = [_missed(results, trial, marks[about[trial]["variant"]]) for trial in trials]
        whens = dict.fromkeys(when for missed in of_seeds for when in missed)
        for when in sorted(whens, key=lambda when: when == _OTHERWISE):
            every = [missed.get(when, (0, 0)) for missed in of_seeds]
            sums = (list(map(sum, every)), *zip(*every, strict=True))
            lines.append((when, *(mean_text(counts) for counts in sums)))
        rows += [(label, *line) if len(results.variants) > 1 else line for line in lines]
    if rows:
        yield Text(told(_ABOUT, results, "Numbers"))
        yield Rows(("Variant", *_COLUMNS) if len(results.variants) > 1 else _COLUMNS, rows)


def _late(measures: Mapping[str, float | None]) -> int:
    """Return how many deliveries peers missed that had joined too shortly before the publication."""
    missed = 0.0
    for name, due in measures.items():
        begin = _DUE.fullmatch(name)
        if begin and int(begin[1]) < _GRACE_S and due:
            missed += due * (1 - (measures.get(f"hit_ratio_after_{begin[1]}_s") or 0.0))
    return round(missed)


def _missed(results: Results, trial: str, marks: Sequence[Mark]) -> dict[str, Counts]:
    """Return the missed deliveries of a trial by when their events were published, in the order of time.

    `marks` are the faults and whatever else the experiment asks for.
    """
    where = pc.field("expected") & ~pc.field("delivered") & (pc.field("peer") != pc.field("publisher"))
    table = results.table("deliveries", trial, ["event", "published_s"], where)
    rows = [] if table is None else sorted(table.to_pylist(), key=lambda row: row["published_s"])
    arrived = _arrived(results, trial, {row["event"] for row in rows}) if rows else set()
    found: dict[str, Counts] = {}
    for row in rows:
        when = _when(row["published_s"], marks)
        somewhere, nowhere = found.get(when, (0, 0))
        is_there = row["event"] in arrived
        found[when] = somewhere + is_there, nowhere + (not is_there)
    return found


def _arrived(results: Results, trial: str, events: Collection[int]) -> set[int]:
    """Return those of the events of which a peer other than the publisher got a copy, or which was delivered
    there."""
    others = pc.field("event").isin(list(events)) & (pc.field("peer") != pc.field("publisher"))
    conditions = {"deliveries": pc.field("delivered"), "handled": pc.field("copies") > 0}
    found = set[int]()
    for name, condition in conditions.items():
        table = results.table(name, trial, ["event"], others & condition) if results.has(name) else None
        found |= set() if table is None else set(table["event"].to_pylist())
    return found


def _when(at: float, marks: Sequence[Mark]) -> str:
    """Return in words what lasts at a time (s). What has no end lasts to the end of the trial."""
    lasting = [mark for mark in marks if mark.at <= at and (mark.until is None or at < mark.until)]
    words = (f"from {m.text} on" if m.until is None else f"during {m.text}" for m in lasting)
    return " and ".join(words) or _OTHERWISE


MISSED: Final = Section("Missed deliveries", _write, "Missed", "missed-deliveries")
