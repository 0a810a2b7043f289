"""The numbers of a paper in the figures of the measures that they are of."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.charts.limits import Limits
from analysis.charts.results import Results


@dataclass(frozen=True, slots=True)
class PaperLimits:
    """The values that a number of a paper allows a measure to have."""

    limits: Limits
    variants: frozenset[str]
    """The names of the variants that the number is about."""


def paper_limits(results: Results, measure: str) -> list[PaperLimits]:
    """Return the values that the claims of a run allow a measure to have.

    Numbers that are made of several values, such as a ratio of two variants, have no place in the figure of a
    measure, and neither have those of runs that an earlier version judged.
    """
    names = {variant["variant"] for variant in results.variants}
    found = []
    for claim in results.claims:
        elsewhere = ", in another setting" if claim["outcome"] == "other setting" else ""
        for number in claim["numbers"]:
            text = f"{claim['id']}{elsewhere}: {number['paper']}"
            limits = Limits(text, number.get("low"), number.get("high"))
            variants = frozenset(names & number["measured"].keys())
            if number.get("measure") == measure and variants and limits.ends:
                found.append(PaperLimits(limits, variants))
    return found
