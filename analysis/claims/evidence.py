"""What a claim is, and how it is held against what was measured.

A claim holds if its shape does: who is better, and in which direction a curve goes. The paper's numbers
and the measured ones stand beside each other in any case; `why` says what is missed, or missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from analysis.measures.variants import Estimate, VariantResult, estimate

Variants = Sequence[VariantResult]
Measured = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What the variants of a run say about a claim."""

    measured: Measured
    holds: bool | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper."""

    id: str
    statement: str
    paper: str
    find: Callable[[Variants], Finding]


class Evidence:
    """Collects measured values and what speaks against a claim."""

    def __init__(self) -> None:
        self.measured: Measured = {}
        self.against: list[str] = []
        self.missing: list[str] = []

    def value(self, label: str, found: Estimate | None) -> float | None:
        if found is None:
            self.missing.append(label)
            return None
        self.measured[label] = asdict(found)
        return found.mean

    def check(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.against.append(otherwise)

    def finding(self, note: str = "") -> Finding:
        if self.missing:
            return Finding(self.measured, None, f"not measured: {', '.join(self.missing)}")
        return Finding(self.measured, not self.against, "; ".join([*self.against, *([note] if note else [])]))


def lacks(what: str) -> Finding:
    """A run that cannot tell."""
    return Finding({}, None, f"the run has no {what}")


def is_static(variant: VariantResult) -> bool:
    """All peers join and stay."""
    return variant.get("churn.model.kind") == "static" and variant.get("churn.flash_crowd") is None


def of_system(variants: Iterable[VariantResult], name: str) -> list[VariantResult]:
    """The variants of a system that were measured."""
    return [v for v in variants if v.get("system.name") == name and v.measures]


def compare(
    ours: VariantResult, theirs: VariantResult, measure: str, how: Callable[[float, float], float]
) -> Estimate | None:
    """`how(ours, theirs)` of a measure, over the seeds that both have."""
    values = []
    for seed in ours.trials.keys() & theirs.trials.keys():
        one, other = ours.trials[seed].get(measure), theirs.trials[seed].get(measure)
        if one is not None and other:
            values.append(how(one, other))
    return estimate(values) if values else None


def saving(ours: float, theirs: float) -> float:
    """By what share ours is less."""
    return 1 - ours / theirs


def ratio(ours: float, theirs: float) -> float:
    """How many times theirs ours is."""
    return ours / theirs
