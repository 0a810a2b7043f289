"""The head of a report tells what came out of the run: a few measures, and which variant is better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from analysis.charts.results import Results, varied_keys
from analysis.report.between import Difference, Pairing, pairings

_MEASURES: Final = 6
"""The most measures of the head."""
_PAIRS: Final = 6
"""The most pairs of variants of the head."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The head of a report."""

    key: str
    """The dotted key by which variants are compared; empty if there is one variant."""
    figures: list[tuple[str, str, str]]
    """The title, unit and value of each measure of the only variant."""
    pairs: list[tuple[Pairing, list[Difference]]]
    """The pairs of variants with what is told of them."""
    more: int
    """The number of pairs that are left out."""


def outcome(results: Results, groups: Iterable[Iterable[tuple[str, str, str, list[str]]]]) -> Outcome:
    """Return what came out. `groups` has the rows of all measures in the report's order: name, title, unit
    and a text for each variant.

    Systems are compared if those are varied, else the values of the first varied key. The measures are the
    first ones of which it is known what is better.
    """
    rows = [row for group in groups for row in group if results.measures[row[0]].get("better")]
    varied = varied_keys(results.variants)
    if not varied:
        figures = [(title, unit, cells[0]) for _, title, unit, cells in rows[:_MEASURES] if cells]
        return Outcome("", figures, [], 0)
    key = "system.name" if "system.name" in varied else varied[0]
    found = [pair for pair in pairings(results, key) if pair.seeds]
    told = [(pair, _told(pair, [row[0] for row in rows])) for pair in found[:_PAIRS]]
    return Outcome(key, [], told, max(len(found) - _PAIRS, 0))


def _told(pair: Pairing, order: list[str]) -> list[Difference]:
    """Return the first measures of a pair, in this order."""
    by_name = {each.measure: each for each in pair.differences}
    return [by_name[name] for name in order if name in by_name][:_MEASURES]
