"""The numbers of a paper in the figures of the measures that they are of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.charts.limits import Limits
from analysis.charts.results import Results


@dataclass(frozen=True, slots=True)
class PaperLimits:
    """What a number of a paper allows a measure to be."""

    limits: Limits
    variants: frozenset[str]
    """The names of the variants that the number is about."""


def paper_limits(results: Results, measure: str) -> list[PaperLimits]:
    """Return what the claims of a run allow a measure to be.

    Numbers that are made of several values, such as a ratio of two variants, have no place in the figure of a
    measure, and neither have those of runs that an earlier version judged.
    """
    return list(_found(results, measure))


def _found(results: Results, measure: str) -> Iterator[PaperLimits]:
    names = {variant["variant"] for variant in results.variants}
    for claim in results.claims:
        elsewhere = ", in another setting" if claim["outcome"] == "other setting" else ""
        for number in claim["numbers"]:
            variants = names & number["measured"].keys()
            limits = Limits(
                f"{claim['id']}{elsewhere}: {number['paper']}", number.get("low"), number.get("high")
            )
            if number.get("measure") == measure and variants and limits.ends:
                yield PaperLimits(limits, frozenset(variants))
