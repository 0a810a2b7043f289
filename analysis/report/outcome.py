"""The head of a report tells what came out of the run: a few sentences, measures and figures, and which
variant is better."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.heat_map import HeatMap
from analysis.charts.numerals import quantity
from analysis.charts.panels import Panels
from analysis.charts.results import Results, key_label, varied_keys
from analysis.contract.figures import Part
from analysis.report.between import NOT_DECIDED, Difference, Pairing, pairings
from analysis.report.counterparts import without_counterpart
from analysis.report.measures_section import means_of
from emulator.files.input_facts import counted

_MEASURES: Final = 6
"""The most measures of the head."""
_PAIRS: Final = 6
"""The most pairs of variants of the head."""
_SENTENCES: Final = 4
"""The most measures of which a sentence is told, and the most values that are compared with the first."""
_FIGURES: Final = 4
_PEERS_UP: Final = "time-peers"
_PREPOSITION: Final = re.compile(
    r" (?:of|in|per|at|to|from|by|for|on|with|within|before|after|that|until)\b|,"
)

Lines = Iterable[tuple[str, str, str, list[str]]]
Drawn = LineChart | BarChart | Panels | HeatMap


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
    ranges: dict[str, str] = field(default_factory=dict)
    """Sentences about the first measures over all variants, by the measure's name."""
    comparisons: list[str] = field(default_factory=list)
    """Sentences about the values that are compared with the first, in all settings."""
    conditions: list[str] = field(default_factory=list)
    """Sentences of sections, and about claims and expectations."""
    every: Sequence[tuple[Pairing, list[Difference]]] = ()
    """All pairs, those that are left out too."""

    @property
    def not_decided(self) -> str:
        """The sentence that explains "not decided" if that is told of a measure, else ""."""
        lacking = any(each.lacking for _, differences in self.every for each in differences)
        return f"{NOT_DECIDED[:1].upper()}{NOT_DECIDED[1:]}" if lacking else ""

    @property
    def sentences(self) -> list[str]:
        """All sentences in their order."""
        return [*self.ranges.values(), *self.comparisons, *self.conditions]


def outcome(results: Results, groups: Iterable[Lines], main: Sequence[str] = ()) -> Outcome:
    """Return what came out. `groups` has the rows of all measures in the report's order: name, title, unit
    and a text for each variant.

    Systems are compared if those are varied, else the values of the first varied key. The measures are the
    first ones of which it is known what is better, those that are `main` before all others.
    """
    rows = [row for group in groups for row in group if results.measures[row[0]].get("better")]
    rows.sort(key=lambda row: main.index(row[0]) if row[0] in main else len(main))
    varied = varied_keys(results.variants)
    if not varied:
        figures = [(title, unit, cells[0]) for _, title, unit, cells in rows[:_MEASURES] if cells]
        return Outcome("", figures, [], 0, conditions=_of_conditions(results))
    key = "system.name" if "system.name" in varied else varied[0]
    order = [row[0] for row in rows]
    pairs = pairings(results, key)
    found = [(pair, _told(pair, order)) for pair in pairs if pair.seeds]
    lone = without_counterpart(results, [pair.variants for pair in pairs])
    return Outcome(
        key, [], found[:_PAIRS], max(len(found) - _PAIRS, 0),
        _ranges(results, order), _comparisons(found), [*alone(lone, key), *_of_conditions(results)], found,
    )  # fmt: skip


def _ranges(results: Results, order: Sequence[str]) -> dict[str, str]:
    """Return sentences about the first measures: their extremes, or the value that all variants have."""
    sentences = {}
    for name in order[:_SENTENCES]:
        about = results.measures[name]
        means = list(means_of(results, name))
        if not means:
            continue
        low, high = min(mean for mean, _ in means), max(mean for mean, _ in means)
        lowest, highest = ([label for mean, label in means if mean == end] for end in (low, high))
        title = f"{about['title'][:1].upper()}{about['title'][1:]}"
        without = len(results.variants) - len(means)
        has = "has" if without == 1 else "have"
        none = f"; {without} of {len(results.variants)} variants {has} none" if without else ""
        if low == high:
            seeds = any(results.of_seeds(variant, name) for variant in results.variants)
            where = "every seed that has it" if seeds else "all others" if without else "every variant"
            sentences[name] = f"{title} {verb(title)} {quantity(low, about['unit'])} in {where}{none}."
        else:
            sentences[name] = (
                f"{title} {verb(title)} between {quantity(low, about['unit'])} ({_any_of(lowest)}) and "
                f"{quantity(high, about['unit'])} ({_any_of(highest)}){none}."
            )
    return sentences


def verb(title: str) -> str:
    """Return "are" for the title of a measure that is about several things, such as "control messages"."""
    noun = _PREPOSITION.split(title, maxsplit=1)[0]
    return "are" if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else "is"


def _any_of(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{len(labels):,} variants"


def _comparisons(found: Sequence[tuple[Pairing, list[Difference]]]) -> list[str]:
    """Return a sentence for each value that is compared with the first: in how many settings which measures
    are better and worse."""
    by_other: dict[tuple[str, str], list[tuple[Pairing, list[Difference]]]] = {}
    for pair, told in found:
        by_other.setdefault((pair.other, pair.base), []).append((pair, told))
    sentences = []
    for (other, base), settings in list(by_other.items())[:_SENTENCES]:
        by_title: dict[str, list[Difference]] = {}
        for each in (each for _, told in settings for each in told):
            by_title.setdefault(each.title, []).append(each)
        told_of = [
            f"{title} {_counted(differences, len(settings))}"
            for title, differences in by_title.items()
            if any(not each.verdict.startswith("equal") for each in differences)
        ]
        if not told_of:
            told_of = ["no difference in the first measures"]
        where = f" in {len(settings)} settings" if len(settings) > 1 else ""
        seeds = sorted({pair.seeds for pair, _ in settings})
        sentences.append(
            f"{other} beside {base}{where} ({_seeds(seeds)}): {'; '.join(told_of[:_SENTENCES])}."
            f"{' One seed says nothing of chance.' if seeds == [1] else ''}"
        )
    if (more := len(by_other) - _SENTENCES) > 0:
        sentences.append(f"{more:,} more {'is' if more == 1 else 'are'} compared by the command below.")
    return sentences


def alone(labels: Sequence[str], key: str) -> list[str]:
    """Return the sentence that names the variants without a counterpart, none if each has one."""
    if not labels:
        return []
    return [f"Without a counterpart that differs in {key_label(key)} alone: {'; '.join(labels)}."]


def _seeds(counts: Sequence[int]) -> str:
    """Return how many seeds settings have; of more than one, ± is explained."""
    if counts == [1]:
        return "one seed"
    many = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"{many} seeds, ± is the 95 % interval"


def _counted(differences: Sequence[Difference], settings: int) -> str:
    """Return how a measure differs: in one setting by how much, else in how many which way."""
    if settings == 1:
        only = differences[0]
        return f"{way(only)}, {only.amount}" if only.amount else way(only)
    counts = Counter(map(way, differences))
    told = [each for each in differences if each.amount]
    largest = max(told, key=lambda each: abs(each.by.mean), default=None)
    most = f" (largest {largest.amount})" if largest else ""
    if len(counts) == 1:
        return f"{next(iter(counts))} in all{most}"
    return ", ".join(f"{word} in {count}" for word, count in counts.most_common()) + most


def way(difference: Difference) -> str:
    """Return the verdict, without the one seed that the sentence names already."""
    return difference.verdict.removesuffix(" at one seed")


def _of_conditions(results: Results) -> list[str]:
    """Return sentences that say which claims of the paper and which expectations hold."""
    sentences = []
    if results.claims:
        by_outcome: dict[str, list[str]] = {}
        for claim in results.claims:
            by_outcome.setdefault(claim["outcome"], []).append(claim["id"])
        words = {"yes": "holds", "no": "does not hold"}
        texts = [f"{', '.join(ids)} ({words.get(told, told)})" for told, ids in by_outcome.items()]
        sentences.append(f"Claims of the paper: {'; '.join(texts)}.")
    expected = results.summary.get("expectations", [])
    if expected:
        held = sum(bool(each["holds"]) for each in expected)
        all_ = counted(len(expected), "expectation")
        sentences.append(f"{held} of {all_} {'holds' if len(expected) == 1 else 'hold'}.")
    return sentences


def leading(figures: Mapping[Part, Sequence[Drawn]]) -> list[str]:
    """Return the names of the four figures of the head, taken in turns from those that set variants beside
    each other, those in time and those of the spread.

    A figure of one value, or of variants that are all alike, is left out. That of the peers that are up comes
    only where there is room after all others.
    """
    order: tuple[Part, ...] = ("variants", "time", "spread")
    parts = [[chart.name for chart in figures[part] if _says_something(chart)] for part in order]
    in_turns = [name for names in zip_longest(*parts) for name in names if name is not None]
    return sorted(in_turns, key=lambda name: name == _PEERS_UP)[:_FIGURES]


def _says_something(chart: Drawn) -> bool:
    match chart:
        case LineChart():
            curves = {tuple((point.x, point.y) for point in one.points) for one in chart.lines if one.points}
            return len(curves) > 1 or len({y for curve in curves for _, y in curve}) > 1 == len(chart.lines)
        case BarChart():
            return len({tuple(row.values) for row in chart.bars}) > 1
        case Panels():
            return any(map(_says_something, chart.charts))
    return chart.low != chart.high


def _told(pair: Pairing, order: list[str]) -> list[Difference]:
    """Return the first measures of a pair, in this order."""
    by_name = {each.measure: each for each in pair.differences}
    return [by_name[name] for name in order if name in by_name][:_MEASURES]
