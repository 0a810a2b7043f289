"""Figures of how values spread over peers, deliveries, lookups and subscriptions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from analysis.report.chart import Point, Quantity, Series, line_chart
from analysis.report.figures_shown import Chart, drawn, shown
from analysis.report.results import Results

_CURVE_POINTS = 240


@dataclass(frozen=True, slots=True)
class _Spread:
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


_SPREADS = (
    _Spread(
        "delay-ms", "Delay of deliveries",
        "The share of deliveries made within a time after publication. Further left is faster.",
        Quantity("time from publication to delivery", "ms"), "deliveries", ("publish", "ms"),
    ),
    _Spread(
        "delay-hops", "Hops of deliveries",
        "The share of deliveries that took a number of overlay hops.",
        Quantity("hops"), "deliveries", ("publish", "hops"), counted=True,
    ),
    _Spread(
        "lookup-ms", "Delay of lookups",
        "The share of lookups that ended within a time. Further left is faster.",
        Quantity("time from the origin to the end of the route", "ms"), "lookups", ("lookup", "ms"),
    ),
    _Spread(
        "lookup-hops", "Hops of lookups",
        "The share of lookups that took a number of overlay hops.",
        Quantity("hops"), "lookups", ("lookup", "hops"), counted=True,
    ),
    _Spread(
        "lookup-penalty", "Relative delay penalty of lookups",
        "The share of lookups whose route took up to a number of times the one-way delay from their origin "
        "straight to where they ended. 1 is the direct way; the slowest hundredth is not drawn.",
        Quantity("route delay over direct delay"), "lookups", ("lookup", "penalty"), upto=0.99,
    ),
    _Spread(
        "install-ms", "Installing subscriptions",
        "The share of installed subscriptions that were in force within a time. Further left is faster.",
        Quantity("time from asking to the last place that stores it", "ms"), "subscriptions",
        ("subscribe", "ms"),
    ),
    _Spread(
        "install-hops", "Hops of installing",
        "The share of installed subscriptions that took a number of messages one after the other.",
        Quantity("hops"), "subscriptions", ("subscribe", "hops"), counted=True,
    ),
    _Spread(
        "install-bytes", "What installing costs the peers",
        "The share of peers that receive at most a number of bytes for each subscription of all peers.",
        Quantity("received by a peer", "bytes a subscription"), "peers", ("installing",),
    ),
    _Spread(
        "publish-bytes", "What publishing costs the peers",
        "The share of peers that receive at most a number of bytes for each event, delivery included.",
        Quantity("received by a peer", "bytes an event"), "peers", ("publishing",),
    ),
    _Spread(
        "matching-bytes", "What finding the subscribers costs the peers",
        "The share of peers that receive at most a number of bytes for each event, without the messages that "
        "bring it to its subscribers.",
        Quantity("received by a peer", "bytes an event"), "peers", ("matching",),
    ),
)  # fmt: skip


def distribution_charts(results: Results) -> list[Chart]:
    """One trial of each variant; only what was measured."""
    found: dict[str, list[Series]] = {spread.name: [] for spread in _SPREADS}
    for label, trial in shown(results):
        curves: dict[tuple[str, ...], list[Point]] = {}
        for table, keys in (("delay_cdf", ("operation", "unit")), ("cost_cdf", ("kind",))):
            rows = results.table(table, trial)
            for row in sorted([] if rows is None else rows.to_pylist(), key=lambda row: row["value"]):
                points = curves.setdefault(tuple(row[key] for key in keys), [])
                points.append(Point(row["value"], row["share"]))
        for spread in _SPREADS:
            points = [point for point in curves.get(spread.rows, []) if point.y <= spread.upto]
            points = _differences(points) if spread.counted else _thinned(points)
            found[spread.name].append(Series(label, points, curve=not spread.counted))
    return drawn(
        _overhead_chart(results),
        *(
            line_chart(s.name, s.title, s.about, s.x, Quantity(s.of, "share"), found[s.name])
            for s in _SPREADS
        ),
    )


def _overhead_chart(results: Results) -> Chart | None:
    above = []
    for label, trial in shown(results):
        classes = results.table("overhead_histogram", trial)
        if classes is not None:
            rows = sorted(classes.to_pylist(), key=lambda row: row["low"])
            above.append(Series(label, [Point(row["low"], row["above"]) for row in rows]))
    return line_chart(
        "overhead-nodes", "Traffic overhead over the peers",
        "How many peers have at least a given share of unwanted events among all that they receive. "
        "A line that falls early means that few peers carry much for others.",
        Quantity("unwanted events that a peer receives, at least", "share"),
        Quantity("peers", "share"), above,
    )  # fmt: skip


def _thinned(points: list[Point]) -> list[Point]:
    """At most a few hundred points, the last one kept."""
    every = -(-len(points) // _CURVE_POINTS) or 1
    return points[:-1:every] + points[-1:]


def _differences(cumulated: list[Point]) -> list[Point]:
    """The share at each value, from the shares at most that value."""
    start = [Point(0.0, 0.0), *cumulated]
    return [Point(after.x, after.y - before.y) for before, after in pairwise(start)]
