"""Measures of lookups: whether they ended at the right peer, in how many hops, and how much later."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import Measure, MeasureGroup, Tables, grouped, lower, share
from analysis.measures.aggregates import share_of
from analysis.measures.distributions import rounded

TIMEOUT = "hop_timeout"
"""The observation by which a peer tells that another one did not answer a message of an operation in time."""
_TELLING = ("chord", "kademlia")
"""The systems whose peers tell of time-outs."""
_HEADINGS = {"Lookups": ("lookup_", "delay_penalty")}
_MEASURES = {
    "lookup_success": share(
        "Lookups that succeeded",
        "Delivered at the right peer, of all lookups but those of the trial's last 5 s. Right: no peer that "
        "was up from 10 s before the lookup (or from the join phase on) until its delivery is closer to the "
        "key, by the metric of the overlay and the identifiers that its peers had told. A lookup whose "
        "origin crashed meanwhile counts too.",
    ),
    "lookup_success_lowest": share("Lookups that succeeded in the worst interval", "Of the time series."),
    "lookup_delivered": share("Lookups delivered", "At any peer, of the same lookups."),
    "lookup_hops": lower("Lookup hops", "hops", "From the origin to where it ended, mean."),
    "lookup_hops_p99": lower("Lookup hops, 99th percentile", "hops", "Of lookups that were delivered."),
    "lookup_delay_ms": lower("Lookup delay", "ms", "From the origin to where it ended, mean."),
    "lookup_delay_ms_median": lower("Lookup delay, median", "ms", "Of lookups that were delivered."),
    "lookup_delay_ms_p99": lower("Lookup delay, 99th percentile", "ms", "Of lookups that were delivered."),
    "delay_penalty": lower(
        "Relative delay penalty (ratio of means)",
        "",
        "Mean delay of the lookups over the mean one-way delay from their origins straight to where they "
        "ended. Those that ended at their origin do not count.",
    ),
    "delay_penalty_mean": lower(
        "Relative delay penalty (mean of ratios)",
        "",
        "The mean over lookups of each one's own ratio: pairs that are near each other weigh as much as "
        "others.",
    ),
    "lookups": Measure("Lookups", "", None, "Of the measure phase, but for those of the trial's last 5 s."),
}
_FORMULAS = {
    "lookup_success": "lookups delivered at the right peer / lookups",
    "lookup_success_lowest": "minimum over intervals of (lookups delivered at the right peer / lookups)",
    "lookup_delivered": "lookups delivered / lookups",
    "lookup_hops*": "{statistic} over lookups delivered of the hops",
    "lookup_delay_ms*": "{statistic} over lookups delivered of (time of delivery - time of asking)",
    "delay_penalty": (
        "(mean over lookups of d) / (mean over lookups of s), d the delay, s the straight one-way delay"
    ),
    "delay_penalty_mean": "mean over lookups of (d / s), d the delay, s the straight one-way delay",
    "lookups": "lookups that count",
}


def _lookups(tables: Tables) -> DataFrame:
    counted = F.col("counted")
    apart = F.col("direct_ms") > 0
    route, direct = (F.when(apart, F.col(c)) for c in ("delay_ms", "direct_ms"))
    return (
        tables["lookups"]
        .groupBy("trial")
        .agg(
            F.count_if(counted).alias("lookups"),
            share_of(counted & F.col("right"), counted).alias("lookup_success"),
            share_of(counted & F.col("delivered"), counted).alias("lookup_delivered"),
            F.avg("hops").alias("lookup_hops"),
            F.percentile("hops", 0.99).alias("lookup_hops_p99"),
            F.avg("delay_ms").alias("lookup_delay_ms"),
            F.percentile(rounded("delay_ms"), 0.5).alias("lookup_delay_ms_median"),
            F.percentile(rounded("delay_ms"), 0.99).alias("lookup_delay_ms_p99"),
            (F.avg(route) / F.avg(direct)).alias("delay_penalty"),
            F.avg(route / direct).alias("delay_penalty_mean"),
        )
    )


def _timeouts(tables: Tables) -> DataFrame:
    """Return the time-outs of a lookup, of those that count."""
    keys = ["trial", "lookup"]
    counted = tables["lookups"].where("counted").select(*keys)
    asked = tables["operations"].where("operation = 'lookup'").select(*keys, "trace")
    told = tables["observations"].where(F.col("name") == TIMEOUT).groupBy("trial", "trace").count()
    return (
        counted.join(asked, keys)
        .join(told, ["trial", "trace"], "left")
        .groupBy("trial")
        .agg(F.avg(F.coalesce("count", F.lit(0))).alias("lookup_timeouts"))
    )


def _in_time(tables: Tables) -> DataFrame:
    return tables["series"].groupBy("trial").agg(F.min("lookup_success").alias("lookup_success_lowest"))


LOOKUPS = MeasureGroup(
    grouped(_HEADINGS, defined(_FORMULAS, _MEASURES)),
    (_lookups, _in_time),
    zero=("lookups",),
    of_parts={_lookups: [name for name in _MEASURES if name != "lookup_success_lowest"]},
)
"""The measures of trials whose peers look keys up."""
TIMEOUTS = MeasureGroup(
    grouped(
        _HEADINGS,
        defined(
            {"lookup_timeouts": "time-outs of messages of lookups / lookups"},
            {
                "lookup_timeouts": lower(
                    "Peers found silent, a lookup",
                    "",
                    "Times that a peer did not answer a lookup in time, over the number of lookups.",
                )
            },
        ),
    ),
    (_timeouts,),
    systems=_TELLING,
)
"""The time-outs of lookups; other systems' trials need no query for them."""
