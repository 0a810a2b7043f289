"""The variants that curves are drawn of: all, or some of a large sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analysis.charts.results import Results

MOST: Final = 40
"""The most variants of which each has a curve, a bar or a row. More cannot be told apart."""
_OF_MANY: Final = 6
"""The number of variants that are drawn of a larger sweep."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The names of variants that are drawn, in the run's order, and a sentence about the choice."""

    names: list[str]
    told: str = ""
    """Empty if all variants are drawn."""


def drawn_variants(results: Results) -> Drawn:
    """Return the variants that figures draw.

    Of more than `MOST` these are six: the best and the worst by the first measure that tells variants apart,
    and four between them in equal steps of the ranking.
    """
    variants = results.variants
    if len(variants) <= MOST:
        return Drawn([variant["variant"] for variant in variants])
    measure = next((name for name in results.measures if _tells_apart(results, name)), None)
    if measure is None:
        first = [variant["variant"] for variant in variants[:_OF_MANY]]
        return Drawn(first, f"Of {len(variants):,} variants the first {len(first)} are drawn.")
    about = results.measures[measure]
    ranked = sorted(
        (variant for variant in variants if _mean(variant, measure) is not None),
        key=lambda variant: _mean(variant, measure) or 0.0,
        reverse=about["better"] == "higher",
    )
    steps = min(_OF_MANY, len(ranked)) - 1
    chosen = {ranked[i * (len(ranked) - 1) // max(steps, 1)]["variant"] for i in range(steps + 1)}
    told = (
        f"Of {len(variants):,} variants {len(chosen)} are drawn, from the best to the worst by "
        f"{about['title'][:1].lower()}{about['title'][1:]} in equal steps of the ranking."
    )
    return Drawn([variant["variant"] for variant in variants if variant["variant"] in chosen], told)


def _tells_apart(results: Results, measure: str) -> bool:
    """Return whether it is known of a measure what is better, and not all variants have the same value."""
    return bool(results.measures[measure].get("better")) and len(set(_means(results.variants, measure))) > 1


def _means(variants: Sequence[Mapping[str, Any]], measure: str) -> list[float]:
    return [mean for variant in variants if (mean := _mean(variant, measure)) is not None]


def _mean(variant: Mapping[str, Any], measure: str) -> float | None:
    found = variant["measures"].get(measure)
    return found["mean"] if found else None
