"""The comparison of telemetry that was found with telemetry that was written, as its writers told.

A host, and the virtual clock, writes a file for each start and signal; a Collector writes one for all hosts.
So a difference names the file, and in a Collector's the host and start too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from analysis.contract.trials import TrialRecord
from emulator.experiment.run.fidelity import Check
from emulator.experiment.run.seals import COLLECTOR, changed_since
from emulator.experiment.run.telemetry_totals import Written

_CONTENT = {"traces": "spans", "metrics": "data points"}
_NAMED = 10


class Found(NamedTuple):
    """The number of spans, or data points, of one start of a host in a part of a file."""

    trial: str
    file: str
    host: str
    start: int
    amount: int
    signal: str
    """The signal: "traces" or "metrics"."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference: less or more was found than was written."""

    text: str
    missing: int = 0
    surplus: int = 0


def reconcile(record: TrialRecord, found: Iterable[Found]) -> list[Check]:
    """Return the checks of one trial; not measured if no writer told what it wrote, as in earlier versions.

    A start without a last word may have written more than it told of, and what counts as lost may be there.
    """
    told = record.fidelity.get("written")
    if told is None:
        detail = "what was written is not known: the trial was run by an earlier version, or did not end"
        return [Check(name, None, 0, unit, detail) for name, unit in (*_CHECKS, (_CHANGED, "files"))]
    found = [part for part in found if part.trial == record.name]
    written = [Written(**fields) for fields in told]
    differences = [d for signal in _CONTENT for d in _differences(record, written, found, signal)]
    missing = [d for d in differences if d.missing]
    surplus = [d for d in differences if d.surplus]
    strangers = _strangers(record, written)
    counts = sum(d.missing for d in missing), sum(d.surplus for d in surplus), len(strangers)
    details = [d.text for d in missing], [d.text for d in surplus], strangers
    checks = [
        Check(name, count, 0, unit, _listed(texts))
        for (name, unit), count, texts in zip(_CHECKS, counts, details, strict=True)
    ]
    return [*checks, _changed(record, [*details[0], *details[1]])]


def _changed(record: TrialRecord, known: list[str]) -> Check:
    """Return the check of what the trial wrote against its digests; files that `known` differences name are
    left out."""
    names = changed_since(record.directory, record.status)
    if names is None:
        return Check(_CHANGED, None, 0, "files", "the trial's status has no digests of its files")
    names = [name for name in names if not any(text.startswith(Path(name).name) for text in known)]
    return Check(_CHANGED, len(names), 0, "files", _listed(names))


_CHECKS = (
    ("telemetry missing", "spans and data points"),
    ("telemetry that was not written by the trial", "spans and data points"),
    ("telemetry files that nobody wrote", "files"),
)
_CHANGED = "files that were changed since the trial ended"


def _differences(
    record: TrialRecord, written: list[Written], found: list[Found], signal: str
) -> Iterator[Difference]:
    there: Counter[tuple[str, str, int]] = Counter()
    for part in found:
        if part.signal == signal:
            file = f"{COLLECTOR}{signal}" if part.file.startswith(COLLECTOR) else part.file
            there[file, part.host, part.start] += part.amount
    by_collector = _has_collector(record)
    what = _CONTENT[signal]
    files = {_file_of(each, signal, by_collector) for each in written}
    for each in written:
        file = _file_of(each, signal, by_collector)
        count = there.pop((file, each.host, each.start), 0)
        kept = each.spans if signal == "traces" else each.points
        most = kept + (each.lost_spans if signal == "traces" else each.lost_points)
        whose = f"{file}: of {each.host}, start {each.start}, " if by_collector else f"{file}: "
        least = "" if each.last_word else "at least "
        for key in [key for key in there if key[1:] == (each.host, each.start) and key[0] not in files]:
            # A copy under another name may be read in place of the file, because what is there twice counts
            # once. `_strangers` names it.
            moved = max(min(there[key], kept - count), 0)
            there[key] -= moved
            count += moved
        if count < kept:
            gone = "the file is not there; " if not (by_collector or _exists(record, file)) else ""
            text = f"{whose}{gone}{kept - count:,} of {least}{kept:,} {what} are missing"
            yield Difference(text, missing=kept - count)
        elif count > most and each.last_word:
            yield Difference(
                f"{whose}{count - most:,} {what} more than the {most:,} that were written",
                surplus=count - most,
            )
    for (file, host, start), count in sorted((+there).items()):
        text = f"{file}: {count:,} {what} of {host}, start {start}, which did not write them"
        yield Difference(text, surplus=count)


def _strangers(record: TrialRecord, written: list[Written]) -> list[str]:
    """Return files of telemetry that have no writer."""
    by_collector = _has_collector(record)
    known = {_file_of(each, signal, by_collector) for each in written for signal in _CONTENT}
    return sorted(
        path.name
        for path in record.directory.telemetry.glob("*.otlp")
        if path.name not in known and not (by_collector and path.name.startswith(COLLECTOR))
    )


def _has_collector(record: TrialRecord) -> bool:
    return bool(record.fidelity.get("runtime") == "kubernetes")


def _file_of(written: Written, signal: str, by_collector: bool) -> str:
    return f"{COLLECTOR}{signal}" if by_collector else f"{written.host}-{signal}-{written.start}.otlp"


def _exists(record: TrialRecord, file: str) -> bool:
    return (record.directory.telemetry / file).exists()


def _listed(texts: list[str]) -> str:
    more = len(texts) - _NAMED
    return "; ".join(texts[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def told_by(fidelity: dict[str, Any], checks: Iterable[Check]) -> str:
    """Return in words whose telemetry the measures of a trial are made of; "" if it is that of all hosts."""
    hosts = fidelity.get("hosts") or []
    lost = sum(host.get("state") == "lost" for host in hosts)
    parts = [f"the hosts that told: {len(hosts) - lost} of {len(hosts)}"] if lost else []
    missing = next((check.measured for check in checks if check.name == _CHECKS[0][0]), None)
    if missing:
        parts.append(f"what was found: {missing:,.0f} {_CHECKS[0][1]} are missing")
    return "; ".join(parts)
