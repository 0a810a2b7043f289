"""The definition of a paper's claim, the functions by which claims are written, and the judge of claims.

A claim is a statement and the numbers that the paper prints for it. There is no other text of the paper: a
report prints these numbers, and each of them is judged. Each names

- what it is of, in words;
- its bound (`analysis.claims.bounds`): `about(331, "ms")`, `at_least(0.99, "share")`, `between`, `at_most`,
  `above`, `below`. The unit is the paper's, and measured values are given in it;
- how it is found in the variants: a function that gives an estimate for each of them by name, or None where
  it was not measured. `each`, `to_mean`, `of_pair` and `of_ends` make such functions.

A claim also says which variants it is about (`among`), what a run needs to have any (`needs`), and the
paper's `setting`: dotted keys of the experiment with the paper's values. Written out:

    QUASAR = (
        Claim(
            id="Q1",
            statement="Nearly all members of a group get its messages.",
            among=lambda variants: [v for v in of_system(variants, "quasar") if is_static(v)],
            needs="static variants of Quasar",
            setting={"peers": Sweep(1024, 32768), "system.parameters.levels": 3},
            numbers=(Number("coverage", above(0.97, "share"), each("hit_ratio")),),
        ),
    )

and a line in `analysis.claims.papers`. What only a figure shows is a number too: that a curve falls is
`Number("delay with most friends, to that with fewest", below(1, "times"), of_ends(key, measure, ratio))`.

The outcome is "yes" if every number holds, "no" if one does not, "not decided" where something was not
measured or a trial is invalid. It is "other setting" if peers, network or workload differ from the paper's,
whatever the numbers are: `differs` then says how, and `why` how many of them hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from analysis.claims.bounds import Bound, said
from analysis.claims.bounds import Outcome as NumberOutcome
from analysis.claims.curves import curves
from analysis.claims.paper_setting import Setting, differences
from analysis.measures.variant_results import Estimate, VariantResult, estimate

Variants = Sequence[VariantResult]
Found = Mapping[str, Estimate | None]
"""Estimates by the name of a variant, or of what was compared; None where nothing was measured."""
Find = Callable[[Variants], Found]
Compare = Callable[[float, float], float]
ClaimOutcome = Literal["yes", "no", "other setting", "not decided"]


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a claim."""

    what: str
    bound: Bound
    find: Find

    @property
    def of_measure(self) -> OfMeasure | None:
        """The measure whose value the number is; None if it is made of several values."""
        find = self.find
        while isinstance(find, OfSome):
            find = find.find
        return find if isinstance(find, OfMeasure) else None


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a paper."""

    id: str
    statement: str
    among: Callable[[Variants], Variants]
    """The function that selects the variants of a run that the claim is about."""
    needs: str
    """The thing that a run without such variants lacks, such as "static variants of Vitis"."""
    setting: Setting
    numbers: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """One number of a claim beside what was measured. Estimates are in the paper's unit."""

    what: str
    paper: str
    unit: str
    measured: dict[str, Estimate] = field(default_factory=dict)
    outcome: NumberOutcome | Literal["not measured"] = "not measured"
    measure: str = ""
    """The measure whose value the number is, "" if it is made of several."""
    low: float | None = None
    """The lowest value of the measure that agrees with the paper, in the measure's unit; None if there is
    none."""
    high: float | None = None
    """The highest one."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a claim."""

    id: str
    statement: str
    outcome: ClaimOutcome
    differs: list[str]
    """The keys at which the setting differs from the paper's, in sentences."""
    why: str
    numbers: list[Judged]

    @property
    def holds(self) -> bool | None:
        """Whether the claim holds; None if the run cannot tell."""
        return {"yes": True, "no": False}.get(self.outcome)


def judge_claim(claim: Claim, variants: Variants, invalid: frozenset[str] = frozenset()) -> Verdict:
    """Return the verdict on a claim; `invalid` names the variants that have an invalid trial."""
    among = claim.among(variants)
    if not among:
        numbers = [_unmeasured(number) for number in claim.numbers]
        return Verdict(claim.id, claim.statement, "not decided", [], f"the run has no {claim.needs}", numbers)
    numbers = [_judge(number, among) for number in claim.numbers]
    differs = differences(claim.setting, among)
    reasons = [reason for number in numbers if (reason := _reason(number))]
    spoilt = sorted({v.name for v in among} & invalid)
    outcome: ClaimOutcome = "yes"
    if differs:
        outcome = "other setting"
        held = sum(number.outcome in ("held", "better") for number in numbers)
        reasons.insert(
            0, f"{held} of {len(numbers)} {'number holds' if len(numbers) == 1 else 'numbers hold'}"
        )
    elif any(number.outcome == "missed" for number in numbers):
        outcome = "no"
    elif any(number.outcome == "not measured" for number in numbers):
        outcome = "not decided"
    if spoilt:
        outcome = outcome if differs else "not decided"
        reasons.insert(0, f"a trial is invalid: {', '.join(spoilt)}")
    return Verdict(claim.id, claim.statement, outcome, differs, "; ".join(reasons), numbers)


def _judge(number: Number, variants: Variants) -> Judged:
    found = number.find(variants)
    measured = {name: value for name, value in found.items() if value is not None}
    outcomes = {number.bound.judge(value.mean) for value in measured.values()}
    judged = replace(_unmeasured(number), measured=measured)
    if "missed" in outcomes:
        return replace(judged, outcome="missed")
    if not measured or len(measured) < len(found):
        return judged
    return replace(judged, outcome="better" if "better" in outcomes else "held")


def _unmeasured(number: Number) -> Judged:
    """Return what the paper has, without what was measured."""
    bound, of = number.bound, number.of_measure
    judged = Judged(number.what, bound.text, bound.unit)
    if of is None:
        return judged
    low, high = (limit * of.divided_by if math.isfinite(limit) else None for limit in (bound.low, bound.high))
    return replace(judged, measure=of.measure, low=low, high=high)


def _reason(number: Judged) -> str:
    means = ", ".join(dict.fromkeys(said(value.mean, number.unit) for value in number.measured.values()))
    match number.outcome:
        case "missed":
            return f"missed: {number.what} {means} instead of {number.paper}"
        case "better":
            return f"better than the paper's: {number.what} {means} instead of {number.paper}"
        case "not measured":
            return f"not measured: {number.what}"
        case _:
            return ""


@dataclass(frozen=True, slots=True)
class OfMeasure:
    """A function that finds a measure of each variant, divided by `divided_by`."""

    measure: str
    divided_by: float

    def __call__(self, variants: Variants) -> Found:
        return {
            v.name: _over_seeds(v, lambda m: _ratio(m.get(self.measure), self.divided_by)) for v in variants
        }


@dataclass(frozen=True, slots=True)
class OfSome:
    """A function that finds what `find` does, but only in the variants that `chosen` returns."""

    chosen: Callable[[Variants], Variants]
    find: Find

    def __call__(self, variants: Variants) -> Found:
        return self.find(self.chosen(variants))


def each(measure: str, divided_by: float = 1.0) -> Find:
    """Return a function that finds a measure of each variant, divided by `divided_by`."""
    return OfMeasure(measure, divided_by)


def to_mean(measure: str, mean: str) -> Find:
    """Return a function that finds the ratio of a measure to the measure `mean`, in each variant."""

    def find(variants: Variants) -> Found:
        return {v.name: _over_seeds(v, lambda m: _ratio(m.get(measure), m.get(mean))) for v in variants}

    return find


def of_pair(pairs: Callable[[Variants], Iterable[Pair]], measure: str, how: Compare) -> Find:
    """Return a function that finds `how(ours, theirs)` of a measure in each pair of variants."""

    def find(variants: Variants) -> Found:
        return {pair.name: compare(pair.ours, pair.theirs, measure, how) for pair in pairs(variants)}

    return find


def of_ends(
    key: str, measure: str, how: Compare, where: Callable[[VariantResult], bool] = lambda variant: True
) -> Find:
    """Return a function that finds `how(last, first)` of a measure at the ends of the curves over a key.

    The last variant has the highest value at the dotted key, the first the lowest. Variants that differ
    otherwise are on curves of their own (`analysis.claims.curves`); each of them counts.
    """

    def find(variants: Variants) -> Found:
        found = {}
        for curve in curves([v for v in variants if where(v)], key):
            first, last = curve.points[0], curve.points[-1]
            ends = f"{key.rpartition('.')[2]} {first.get(key):,} to {last.get(key):,}"
            found[f"{ends}, {curve.name}" if curve.name else ends] = compare(last, first, measure, how)
        return found

    return find


@dataclass(frozen=True, slots=True)
class Pair:
    """Two variants that are compared, such as a system and its baseline in one setting."""

    name: str
    ours: VariantResult
    theirs: VariantResult


def members(pairs: Iterable[Pair]) -> list[VariantResult]:
    """Return the variants of pairs, each once."""
    return list({v.name: v for pair in pairs for v in (pair.ours, pair.theirs)}.values())


def compare(ours: VariantResult, theirs: VariantResult, measure: str, how: Compare) -> Estimate | None:
    """Return the estimate of `how(ours, theirs)` of a measure, over the seeds that both have.

    A seed at which `how` divides by zero does not count; a baseline of zero is allowed otherwise.
    """
    values = []
    for seed in ours.trials.keys() & theirs.trials.keys():
        one, other = ours.trials[seed].get(measure), theirs.trials[seed].get(measure)
        if one is not None and other is not None:
            with suppress(ZeroDivisionError):
                values.append(how(one, other))
    return estimate(values) if values else None


def _over_seeds(
    variant: VariantResult, value: Callable[[Mapping[str, float | None]], float | None]
) -> Estimate | None:
    found = [number for measured in variant.trials.values() if (number := value(measured)) is not None]
    return estimate(found) if found else None


def _ratio(value: float | None, of: float | None) -> float | None:
    return None if value is None or not of else value / of


def saving(ours: float, theirs: float) -> float:
    """Return the share by which ours is less than theirs. Raises ZeroDivisionError."""
    return 1 - ours / theirs


def ratio(ours: float, theirs: float) -> float:
    """Return how many times theirs ours is. Raises ZeroDivisionError."""
    return ours / theirs


def is_static(variant: VariantResult) -> bool:
    """Return whether all peers join and stay."""
    events = (variant.get("churn.flash_crowd"), variant.get("churn.crash"))
    return variant.get("churn.model.kind") == "static" and not any(events)


def of_system(variants: Iterable[VariantResult], name: str) -> list[VariantResult]:
    """Return the variants of a system that were measured."""
    return [v for v in variants if v.get("system.name") == name and v.measures]
