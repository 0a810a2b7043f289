"""The section of the report that tells of the links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from analysis.charts.results import Results
from analysis.contract.figures import Block, Rows, Section, Text
from analysis.report.over_seeds import mean_text, seeds, told

_ABOUT = (
    "The load of links is what they took in during the measure phase over what they can carry; that of the "
    "busiest peer counts what it sent, dropped messages included. The rate achieved is the one at which "
    "messages left links that were busy for at least 250 ms. A message waits as long as it is later at "
    "the end of a link than it would have been alone there. Drops are messages that did not fit into a link "
    "in the whole trial."
)


_COLUMNS = (
    *("Links", "Peers", "Way", "Rate", "Achieved", "Mean load", "Busiest peer"),
    *("Mean wait", "Wait, 99th percentile", "Drops"),
)
_MEASURED = (
    *(("load", "share"), ("load_max", "share")),
    *(("wait_ms", "ms"), ("wait_p99_ms", "ms"), ("drops", "")),
)
"""The columns of the table `link_load` that are means over seeds, with their units."""


def _write(results: Results) -> Iterator[Block]:
    if not results.has("link_load"):
        return
    rows = [
        (
            _named(label if len(results.variants) > 1 else "", of_class),
            *(mean_text([row["peers"] for row in rows]), way, f"{rows[0]['bit_s'] / 1e6:g} Mbit/s"),
            mean_text(_achieved(rows), "Mbit/s"),
            *_cells(rows),
        )
        for label, trials in seeds(results)
        for (of_class, way), rows in _by_link(results, trials).items()
    ]
    if rows:
        yield Text(told(_ABOUT, results, "Numbers"))
        yield Rows(_COLUMNS, rows)


def _named(label: str, of_class: str) -> str:
    return ", ".join(part for part in (label, of_class) if part) or "all peers"


def _by_link(results: Results, trials: Sequence[str]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the rows of each seed by class and way, of links whose rate is limited."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for trial in trials:
        for row in results.rows("link_load", trial):
            if row["bit_s"] is not None:
                found.setdefault((row["class"], row["way"]), []).append(row)
    return found


def _achieved(rows: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return the rate of each seed that was achieved (Mbit/s), None where no link was busy for long enough or
    the tables are of a version that did not measure it."""
    achieved = (row.get("achieved") for row in rows)
    return [None if rate is None else rate / 1e6 for rate in achieved]


def _cells(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the means over the seeds of what was measured of a class of links, as they are shown."""
    return [mean_text([row[column] for row in rows], unit) for column, unit in _MEASURED]


LINKS: Final = Section("Links", _write, "Links", "links")
