"""The section of the report that tells of the links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analysis.charts.numerals import estimate
from analysis.charts.results import Results
from analysis.contract.figures import Block, Rows, Section, Text
from analysis.report.figures_shown import shown

_ABOUT = (
    "The load of an up link is what its peer sent in the measure phase, dropped messages included, over what "
    "the link carries. Drops are messages that did not fit into a link in the whole trial. One trial of each "
    "variant."
)


def _write(results: Results) -> Iterator[Block]:
    if not results.has("link_load"):
        return
    rows = [
        (
            ", ".join(part for part in (label if len(results.variants) > 1 else "", row["class"]) if part)
            or "all peers",
            str(row["peers"]),
            "unlimited" if row["up_bit_s"] is None else f"{row['up_bit_s'] / 1e6:g} Mbit/s",
            f"{estimate(row['load'], None, 'share')} %",
            f"{estimate(row['load_max'], None, 'share')} %",
            f"{row['up_drops']:,}",
            f"{row['down_drops']:,}",
        )
        for label, trial in shown(results)
        for row in results.rows("link_load", trial)
    ]
    if rows:
        yield Text(_ABOUT)
        yield Rows(("Links", "Peers", "Up", "Mean load", "Busiest peer", "Drops up", "Drops down"), rows)


LINKS: Final = Section("Links", _write, "Links", "links")
