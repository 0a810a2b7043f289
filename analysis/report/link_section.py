"""The section of the report that tells of the links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analysis.charts.numerals import estimate
from analysis.charts.results import Results
from analysis.contract.figures import Block, Rows, Section, Text
from analysis.report.figures_shown import shown

_ABOUT = (
    "The load of links is what they carried in the measure phase over what they can carry; that of the "
    "busiest peer counts what it sent, dropped messages included. A message waits as long as it is later at "
    "the end of a link than it would have been alone there. Drops are messages that did not fit into a link "
    "in the whole trial. One trial of each variant."
)


_COLUMNS = (
    *("Links", "Peers", "Way", "Rate", "Mean load", "Busiest peer"),
    *("Mean wait", "Wait, 99th percentile", "Drops"),
)


def _write(results: Results) -> Iterator[Block]:
    if not results.has("link_load"):
        return
    rows = [
        (
            ", ".join(part for part in (label if len(results.variants) > 1 else "", row["class"]) if part)
            or "all peers",
            str(row["peers"]),
            row["way"],
            f"{row['bit_s'] / 1e6:g} Mbit/s",
            f"{estimate(row['load'], None, 'share')} %",
            "" if row["load_max"] is None else f"{estimate(row['load_max'], None, 'share')} %",
            _milliseconds(row["wait_ms"]),
            _milliseconds(row["wait_p99_ms"]),
            f"{row['drops']:,}",
        )
        for label, trial in shown(results)
        for row in results.rows("link_load", trial)
        if row["bit_s"] is not None
    ]
    if rows:
        yield Text(_ABOUT)
        yield Rows(_COLUMNS, rows)


def _milliseconds(wait: float | None) -> str:
    return "" if wait is None else f"{estimate(wait, None, 'ms')} ms"


LINKS: Final = Section("Links", _write, "Links", "links")
