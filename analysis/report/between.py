"""Variants of one run beside each other: how they differ at the same seeds, and what so few seeds can say.

Variants that differ in one key have the same plan at the same seed, as far as the key does not change it. So
their measures are compared seed by seed, and the interval is that of the mean difference (Student's t for
pairs). What all seeds have in common, such as a busy topic, does not widen it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scipy.special import stdtrit

from analysis.charts.numerals import estimate as estimate_text
from analysis.charts.numerals import is_share, number, of_seeds, quantity, shown, with_seeds
from analysis.charts.results import Results
from analysis.measures.variant_results import CONFIDENCE, Estimate, estimate
from analysis.report.counterparts import Counterparts, counterparts

MOST_SEEDS: Final = 1000
"""The most seeds that are said to do."""
_SIGNS: Final = 6
"""The seeds that show a difference which is the same at each, by the sign test at 5 %: differences without
spread say nothing of how far others would be."""
_NO_DIFFERENCE: Final = "no difference shown"
NOT_SHOWN: Final = "not shown"
HOW_TO_READ: Final = (
    "not shown: there may be a difference, but these seeds do not show any. One of the size that was found "
    "would show at about the number of seeds that stands there."
)
NOT_DECIDED: Final = (
    "not decided: the measure has no value at some seeds. Values are rarely missing by chance (a recovery "
    "that did not end has no time), so the others cannot say which is better."
)

_Pair = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The measures of two trials with the same seed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure of two variants at the seeds at which both were measured and valid."""

    measure: str
    title: str
    unit: str
    better: str | None
    """The better direction: lower, higher or None."""
    base: float
    """The mean of the variant that the other is compared with; so is `other`."""
    other: float
    by: Estimate
    """The mean of other - base over the seeds, with the half width of its 95 % interval."""
    needed: int | None
    """The seeds at which a difference of this size and spread would show; None if it shows, or if more than
    `MOST_SEEDS` would be needed, or one seed says nothing of its spread."""
    seeds: int
    """The seeds at which both have valid trials, also where the measure could not be had."""
    lacking: tuple[tuple[str, int], ...]
    """The values of the key whose variant lacks the measure at some of these seeds, and at how many."""

    @property
    def is_shown(self) -> bool:
        """The difference shows: its interval does not hold 0. One without spread needs `_SIGNS` seeds.

        None shows if the measure is missing at a seed, since such seeds are not left out by chance: a
        recovery that did not end has no time.
        """
        if self.lacking:
            return False
        if not self.by.ci95:
            return self.by.ci95 is not None and self.by.n >= _SIGNS and self.by.mean != 0
        return abs(self.by.mean) > self.by.ci95

    @property
    def relative(self) -> float | None:
        """The difference as a share of the base."""
        return self.by.mean / abs(self.base) if self.base else None

    @property
    def reading(self) -> str:
        """The sentence that says what these seeds allow to say."""
        if self.lacking:
            return f"not decided: {self._where_both_have_it}"
        if self.by.mean == 0 and not self.by.ci95:
            return "equal" if self.by.n == 1 else "equal at each seed"
        if self.by.n == 1:
            return "one seed says nothing of chance: set repeat"
        if not self.is_shown and not self.by.ci95:
            return f"{self._way} by the same at each of {self.by.n} seeds; {_SIGNS} seeds would show it"
        if not self.is_shown:
            seeds = f"about {self.needed} seeds" if self.needed else f"more than {MOST_SEEDS:,} seeds"
            return f"{_NO_DIFFERENCE}; {seeds} would show one of this size"
        if self.better not in ("lower", "higher"):
            return "differs"
        return "better" if (self.by.mean < 0) == (self.better == "lower") else "worse"

    @property
    def brief(self) -> str:
        """The reading where a table has little room; `HOW_TO_READ` says what "not shown" means."""
        seeds = f"about {self.needed}" if self.needed else f"more than {MOST_SEEDS:,}"
        return f"{NOT_SHOWN}; {seeds} seeds" if self.reading.startswith(_NO_DIFFERENCE) else self.reading

    @property
    def _way(self) -> str:
        if not self.by.mean:
            return "the same"
        return "higher" if self.by.mean > 0 else "lower"

    @property
    def _where_both_have_it(self) -> str:
        none = " and ".join(f"{name} has no value at {count}" for name, count in self.lacking)
        return f"{self._way} at {self.by.n} of {self.seeds} seeds, {none}"

    @property
    def verdict(self) -> str:
        """The reading in a few words."""
        if self.lacking:
            return "not decided"
        if self.by.n == 1 and self.by.mean:
            return f"{self._way} at one seed"
        return self.reading.partition(";")[0]

    @property
    def amount(self) -> str:
        """The difference with its unit and, of several seeds, its interval, such as "+8.9 ± 3.4 points".

        There is none ("") where all seeds are equal, or one lacks the measure.
        """
        if self.lacking or (self.by.mean == 0 and not self.by.ci95):
            return ""
        unit = "points" if is_share(self.unit) else self.unit
        return self.texts[2] + (f"\N{NO-BREAK SPACE}{unit}" if unit else "")

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """The two means, their difference with its interval, and the relative one, as they are shown."""
        sign = "+" if self.by.mean > 0 else ""
        told = of_seeds(self.by.n, self.seeds)
        relative = "" if self.relative is None else quantity(self.relative, "share")
        return (
            with_seeds(number(shown(self.base, self.unit)), told),
            with_seeds(number(shown(self.other, self.unit)), told),
            sign + estimate_text(self.by.mean, self.by.ci95, self.unit),
            f"{sign}{relative}" if relative else "",
        )


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two variants that differ in one key, and how their measures differ."""

    base: str
    """The value of the key, in words, that the other is compared with; so is `other`."""
    other: str
    setting: str
    """The values of the other varied keys, in words."""
    seeds: int
    """The seeds at which both were measured and valid."""
    left_out: int
    """The trials of both that were not valid, or have no counterpart."""
    differences: list[Difference]
    variants: tuple[str, str]
    """The names of the variants, the one that the other is compared with first."""
    one_sided: list[tuple[str, str]]
    """The titles of measures without a seed at which both have a value, and where values are."""

    @property
    def only(self) -> list[str]:
        """The sentences about measures that cannot be compared, since no seed has both values."""
        by_place: dict[str, list[str]] = {}
        for title, place in self.one_sided:
            by_place.setdefault(place, []).append(title)
        return [f"Measured {place}: {', '.join(titles)}." for place, titles in by_place.items()]


def pairings(results: Results, key: str, base: str | None = None) -> list[Pairing]:
    """Return each variant beside its counterpart with the first value of a key, or with `base`; see
    `counterparts`. Raises ResultsError as that does."""
    trials: dict[str, list[Mapping[str, Any]]] = {}
    for trial in results.trials:
        trials.setdefault(trial["variant"], []).append(trial)
    return [_pairing(results, trials, each) for each in counterparts(results, key, base)]


def _pairing(
    results: Results, trials: Mapping[str, Sequence[Mapping[str, Any]]], sides: Counterparts
) -> Pairing:
    variants = sides.base["variant"], sides.other["variant"]
    of_base, of_other = (trials.get(variant, ()) for variant in variants)
    ours, theirs = _by_seed(of_base), _by_seed(of_other)
    seeds = sorted(ours.keys() & theirs.keys())
    left_out = len(of_base) + len(of_other) - 2 * len(seeds)
    pairs = [(ours[seed], theirs[seed]) for seed in seeds]
    return Pairing(
        *sides.names, sides.setting, len(seeds), left_out, list(_differences(results, pairs, sides.names)),
        variants, list(_one_sided(results, pairs, sides.names)),
    )  # fmt: skip


def _by_seed(trials: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Return the measures of those trials of a variant that are valid, by seed."""
    return {int(trial["seed"]): trial["measures"] for trial in trials if trial["valid"] and trial["measures"]}


def _differences(results: Results, pairs: Sequence[_Pair], names: tuple[str, str]) -> Iterator[Difference]:
    """Yield the difference of each measure that both have at some seed."""
    for name, about in results.measures.items():
        both = [(one[name], two[name]) for one, two in pairs if None not in (one.get(name), two.get(name))]
        if not both:
            continue
        by = estimate([two - one for one, two in both])
        yield Difference(
            measure=name,
            title=about["title"],
            unit=about["unit"],
            better=about.get("better"),
            base=math.fsum(one for one, _ in both) / len(both),
            other=math.fsum(two for _, two in both) / len(both),
            by=by,
            needed=_needed(by),
            seeds=len(pairs),
            lacking=tuple(
                (side, count)
                for at, side in enumerate(names)
                if (count := sum(pair[at].get(name) is None for pair in pairs))
            ),
        )


def _one_sided(results: Results, pairs: Sequence[_Pair], names: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the title of each measure that the pairs have without a seed that has both values, and where its
    values are."""
    for name, about in results.measures.items():
        of_base, of_other = (sum(pair[at].get(name) is not None for pair in pairs) for at in (0, 1))
        if any(None not in (one.get(name), two.get(name)) for one, two in pairs):
            continue
        if of_base and of_other:
            yield about["title"], "at no seed of both"
        elif of_base or of_other:
            yield about["title"], f"of {names[0] if of_base else names[1]} only"


def _needed(by: Estimate) -> int | None:
    """Return at how many seeds a mean difference of this size, with this spread, would have an interval
    without 0."""
    if by.ci95 is None or by.mean == 0 or abs(by.mean) > by.ci95:
        return None
    deviation = by.ci95 * math.sqrt(by.n) / _quantile(by.n)
    for seeds in range(by.n + 1, MOST_SEEDS + 1):
        if _quantile(seeds) * deviation / math.sqrt(seeds) < abs(by.mean):
            return seeds
    return None


def _quantile(seeds: int) -> float:
    return float(stdtrit(seeds - 1, (1 + CONFIDENCE) / 2))
