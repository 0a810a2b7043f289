"""Figures of the distribution of values over peers, deliveries, lookups and subscriptions."""

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
    """Whether values are whole numbers: then the share at each is shown, instead of the share up to each."""


def spread(of: Spread) -> Figure:
    """Return a figure of the distribution of values; one trial of each variant."""

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
    """Return a figure of the share of a table's rows with at most a value of a column.

    `of` says what the rows are. Rows that have no value do not count. It shows one trial of each variant.
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
"""The figure of overhead, from the table `overhead_histogram`."""


def _thinned(points: list[Point]) -> list[Point]:
    """Return at most a few hundred points, the last one among them."""
    every = -(-len(points) // _CURVE_POINTS) or 1
    return points[:-1:every] + points[-1:]


def _differences(cumulated: list[Point]) -> list[Point]:
    """Return the share at each value, from the shares at most that value."""
    start = [Point(0.0, 0.0), *cumulated]
    return [Point(after.x, after.y - before.y) for before, after in pairwise(start)]
