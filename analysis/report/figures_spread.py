"""Figures of the distribution of values over peers, deliveries, lookups and subscriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from analysis.charts.chart import Point, Quantity, Series, line_chart
from analysis.charts.limits import LimitsOver
from analysis.charts.results import Results
from analysis.contract.figures import Chart, Figure
from analysis.report.figures_shown import drawn
from analysis.report.over_seeds import mean_curve, mean_points, seeds, told
from analysis.report.paper_limits import paper_limits


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure of one distribution: the rows of a table that it draws, and its texts."""

    name: str
    title: str
    about: str
    x: Quantity
    of: str
    """The title of the axis of shares, such as "deliveries"."""
    rows: tuple[str, ...]
    """The rows by `operation` and `unit` of the table `delay_cdf`, or by `kind` of `cost_cdf`."""
    upto: float = 1.0
    """The share beyond which a curve is not drawn."""
    counted: bool = False
    """This is true if values are whole numbers, whose share at each is shown and not that up to each."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """The measures that are the share up to a value, with that value. A paper's numbers stand there."""


def spread(of: Spread) -> Figure:
    """Return a figure of the distribution of values: means over the seeds of each variant."""

    def draw(results: Results) -> list[Chart]:
        lines = []
        for label, trials in seeds(results):
            of_seeds = [each for trial in trials if (each := _points(results, of, trial))]
            if of.counted:
                shares = [
                    {point.x: point.y for point in _differences(points)} for points in of_seeds if points
                ]
                lines.append(Series(label, mean_points(shares, otherwise=0.0)))
            else:
                points = [p for p in mean_curve([each for each in of_seeds if each]) if p.y <= of.upto]
                lines.append(Series(label, points, curve=True))
        about = told(of.about, results)
        limits = list(_limits(results, of.shares, lines))
        return drawn(
            line_chart(of.name, of.title, about, of.x, Quantity(of.of, "share"), lines, limits=limits)
        )

    return Figure(draw)


def _limits(results: Results, shares: Mapping[str, float], lines: Sequence[Series]) -> Iterator[LimitsOver]:
    """Yield the values that a paper's numbers allow the shares to have, where curves have these places."""
    furthest = max((line.points[-1].x for line in lines if line.points), default=0.0)
    for measure, place in shares.items():
        for each in paper_limits(results, measure) if place <= furthest else ():
            labels = frozenset(results.labels[variant] for variant in each.variants)
            yield LimitsOver(each.limits, place, place, labels)


def _points(results: Results, of: Spread, trial: str) -> list[Point]:
    table, keys = ("delay_cdf", ("operation", "unit")) if len(of.rows) > 1 else ("cost_cdf", ("kind",))
    rows = [row for row in results.rows(table, trial) if tuple(row[key] for key in keys) == of.rows]
    return [Point(row["value"], row["share"]) for row in sorted(rows, key=lambda row: row["value"])]


def cdf(name: str, title: str, about: str, x: Quantity, of: str, table: str, column: str) -> Figure:
    """Return a figure of the share of a table's rows with at most a value of a column.

    `of` says what the rows are. Rows that have no value do not count. It shows means over the seeds of each
    variant.
    """

    def draw(results: Results) -> list[Chart]:
        lines = []
        for label, trials in seeds(results):
            of_seeds = [each for trial in trials if (each := _shares(results, table, column, trial))]
            lines.append(Series(label, mean_curve(of_seeds), curve=True))
        return drawn(line_chart(name, title, told(about, results), x, Quantity(of, "share"), lines))

    return Figure(draw)


def _shares(results: Results, table: str, column: str, trial: str) -> list[Point]:
    values = sorted(v for row in results.rows(table, trial) if (v := row[column]) is not None)
    shares = {float(value): (index + 1) / len(values) for index, value in enumerate(values)}
    return [Point(value, share) for value, share in shares.items()]


def _overhead_chart(results: Results) -> list[Chart]:
    above = []
    for label, trials in seeds(results):
        of_seeds = [
            {row["low"]: row["above"] for row in results.rows("overhead_histogram", trial)}
            for trial in trials
        ]
        above.append(Series(label, mean_points(of_seeds)))
    return drawn(
        line_chart(
            "overhead-nodes", "Traffic overhead over the peers",
            told(
                "How many peers have at least a given share of unwanted events among all that they receive. "
                "A line that falls early means that few peers carry much for others.",
                results,
            ),
            Quantity("unwanted events that a peer receives, at least", "share"),
            Quantity("peers", "share"), above,
        )
    )  # fmt: skip


OVERHEAD = Figure(_overhead_chart)
"""The figure of overhead, from the table `overhead_histogram`."""


def _differences(cumulated: list[Point]) -> list[Point]:
    """Return the share at each value, from the shares at most that value."""
    start = [Point(0.0, 0.0), *cumulated]
    return [Point(after.x, after.y - before.y) for before, after in pairwise(start)]
