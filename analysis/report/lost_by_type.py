"""The table of the report that tells which messages the network's loss took, by type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analysis.charts.results import Results
from analysis.contract.figures import Block, Rows, Text
from analysis.report.over_seeds import mean_text, seeds, told

_ABOUT: Final = (
    "The messages that the network's loss took, by type and channel, until the hosts read their counters "
    "last (each telemetry.metrics_interval): the loss of network.loss, of classes of links, and between "
    "places. The share is of the messages sent of that type. What faults, full links and busy peers stop is "
    "not in this table; the figure of messages that did not arrive as sent has all of them in time. Messages "
    "to peers that were down when they came are in neither."
)
_COLUMNS: Final = ("Message", "Sent", "Lost", "Share lost", "Bytes lost", "Kind", "Channel")

Counts = tuple[float, float, float]
"""The numbers of messages that were sent and lost, and of lost bytes."""
Type = tuple[str, str, str]
"""The message, kind and channel of a row."""


def lost_by_type(results: Results) -> Iterator[Block]:
    """Yield the text and the table, the types with the most losses first; nothing without loss."""
    if not results.has("lost_messages"):
        return
    named = len(results.variants) > 1
    rows: list[tuple[str, ...]] = []
    for label, trials in seeds(results):
        of_seeds = [_counts(results, trial) for trial in trials]
        types = {of: 0.0 for counts in of_seeds for of in counts}
        for counts in of_seeds:
            for of, (_, lost, _) in counts.items():
                types[of] += lost
        if not any(types.values()):
            continue
        for of in sorted(types, key=lambda of: (-types[of], of)):
            every = [counts.get(of, (0.0, 0.0, 0.0)) for counts in of_seeds]
            message, kind, channel = of
            cells = (message, *_cells(every), kind, channel or "root")
            rows.append((label, *cells) if named else cells)
    if rows:
        yield Text(told(_ABOUT, results, "Numbers"))
        yield Rows(("Variant", *_COLUMNS) if named else _COLUMNS, rows)


def _counts(results: Results, trial: str) -> dict[Type, Counts]:
    """Return the counts of a trial, operations and maintenance together."""
    found: dict[Type, Counts] = {}
    for row in results.rows("lost_messages", trial):
        of = row["message"], row["kind"], row["channel"]
        sent, lost, size = found.get(of, (0.0, 0.0, 0.0))
        found[of] = sent + row["sent"], lost + row["lost"], size + row["lost_bytes"]
    return found


def _cells(of_seeds: list[Counts]) -> tuple[str, str, str, str]:
    """Return the means over the seeds, as they are shown."""
    return (
        mean_text([sent for sent, _, _ in of_seeds]),
        mean_text([lost for _, lost, _ in of_seeds]),
        mean_text([lost / sent if sent else None for sent, lost, _ in of_seeds], "share"),
        mean_text([size for _, _, size in of_seeds], "bytes"),
    )
