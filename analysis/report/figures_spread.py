"""Figures of how values spread over peers, deliveries, lookups and subscriptions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from analysis.charts.chart import Point, Quantity, Series, line_chart
from analysis.charts.results import Results
from analysis.contract.figures import Chart, Figure
from analysis.report.figures_shown import drawn, shown

_CURVE_POINTS = 240


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure of one distribution: which rows of a table, and what to say of it."""

    name: str
    title: str
    about: str
    x: Quantity
    of: str
    """What the shares are shares of."""
    rows: tuple[str, ...]
    """`operation` and `unit` of the table `delay_cdf`, or `kind` of `cost_cdf`."""
    upto: float = 1.0
    """Share beyond which a curve is not drawn."""
    counted: bool = False
    """Whole numbers: the share at each, instead of a curve of the share up to each."""


def spread(of: Spread) -> Figure:
    """How values spread; one trial of each variant."""

    def draw(results: Results) -> list[Chart]:
        lines = []
        for label, trial in shown(results):
            points = _thinned(_points(results, of, trial)) if not of.counted else _points(results, of, trial)
            lines.append(Series(label, points, curve=not of.counted))
        return drawn(line_chart(of.name, of.title, of.about, of.x, Quantity(of.of, "share"), lines))

    return Figure(draw)


def _points(results: Results, of: Spread, trial: str) -> list[Point]:
    table, keys = ("delay_cdf", ("operation", "unit")) if len(of.rows) > 1 else ("cost_cdf", ("kind",))
    rows = [row for row in results.rows(table, trial) if tuple(row[key] for key in keys) == of.rows]
    points = [Point(row["value"], row["share"]) for row in sorted(rows, key=lambda row: row["value"])]
    points = [point for point in points if point.y <= of.upto]
    return _differences(points) if of.counted else points


def cdf(name: str, title: str, about: str, x: Quantity, of: str, table: str, column: str) -> Figure:
    """The share of the rows of a table, of which `of` says what they are, with at most a value of a column.

    Rows that have none do not count. One trial of each variant.
    """

    def draw(results: Results) -> list[Chart]:
        lines = []
        for label, trial in shown(results):
            values = sorted(v for row in results.rows(table, trial) if (v := row[column]) is not None)
            shares = {value: (index + 1) / len(values) for index, value in enumerate(values)}
            points = [Point(float(value), share) for value, share in shares.items()]
            lines.append(Series(label, _thinned(points), curve=True))
        return drawn(line_chart(name, title, about, x, Quantity(of, "share"), lines))

    return Figure(draw)


def _overhead_chart(results: Results) -> list[Chart]:
    above = []
    for label, trial in shown(results):
        rows = sorted(results.rows("overhead_histogram", trial), key=lambda row: row["low"])
        if rows:
            above.append(Series(label, [Point(row["low"], row["above"]) for row in rows]))
    return drawn(
        line_chart(
            "overhead-nodes", "Traffic overhead over the peers",
            "How many peers have at least a given share of unwanted events among all that they receive. "
            "A line that falls early means that few peers carry much for others.",
            Quantity("unwanted events that a peer receives, at least", "share"),
            Quantity("peers", "share"), above,
        )
    )  # fmt: skip


OVERHEAD = Figure(_overhead_chart)
"""Of the table `overhead_histogram`."""


def _thinned(points: list[Point]) -> list[Point]:
    """At most a few hundred points, the last one kept."""
    every = -(-len(points) // _CURVE_POINTS) or 1
    return points[:-1:every] + points[-1:]


def _differences(cumulated: list[Point]) -> list[Point]:
    """The share at each value, from the shares at most that value."""
    start = [Point(0.0, 0.0), *cumulated]
    return [Point(after.x, after.y - before.y) for before, after in pairwise(start)]
