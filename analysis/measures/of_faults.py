"""Measures of trials with faults or an attack for a time: how long it takes until all is as it was before."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.contract.formulas import defined
from analysis.contract.measures import MeasureGroup, Tables, grouped, lower

_WITHIN = 0.01
"""The share by which a value may be worse than before the first fault to be as it was. A better one, which
is a higher share or less maintenance, is back too."""
_HOW = (
    "From the end of a fault, or of an attack, until an interval of the time series begins from which on "
    "{what} is at most 1 % lower than before the first fault: in that interval, and in all until the next "
    "fault taken together. At least the time until the next interval begins. The longest of all faults. Not "
    "measured if it is never so after one of them, or if nothing was measured before."
)
_MEASURES = {
    "recovery_s": lower("Time until the hit ratio is back", "s", _HOW.format(what="the hit ratio")),
    "lookup_recovery_s": lower(
        "Time until lookups succeed again",
        "s",
        _HOW.format(what="the share of lookups that succeed"),
    ),
    "maintenance_recovery_s": lower(
        "Time until maintenance is back",
        "s",
        "As for the hit ratio, of the maintenance messages of a peer, but for the mean from an interval on "
        "alone: it is at most 1 % more than before, and less counts as back.",
    ),
}
_OF_RATIO = (
    "maximum over faults of (begin of the first interval in which the ratio is >= 0.99 * the ratio before, "
    "as it also is from there until the next fault in all - end of the fault)"
)
_FORMULAS = {
    "recovery_s": _OF_RATIO,
    "lookup_recovery_s": _OF_RATIO,
    "maintenance_recovery_s": (
        "maximum over faults of (begin of the first interval from which on, until the next fault, the mean "
        "is <= 1.01 * the mean before - end of the fault)"
    ),
}

_TIMES = ("begins_s", "ends_s", "quiet_until_s")
_BEFORE = ("hit_ratio_before", "lookup_success_before", "maintenance_before")
RECOVERS: Final = {"recovery_s": "hit_ratio", "lookup_recovery_s": "lookup_success"}
"""The measures of recovery that only some workloads have, with what recovers."""


def recoveries(tables: Tables) -> DataFrame:
    """Return the rows of the table `recoveries`, one for each fault or attack that ends in quiet (table
    `faults`) while its trial is measured.

    The columns are trial, fault, begins_s, ends_s, quiet_until_s, hit_ratio_before?, lookup_success_before?,
    maintenance_before? (messages/s of a peer), and the time (s) until each of the three is back: null where
    it is not, or where nothing was measured before.
    """
    series = tables["series"]
    measured = series.groupBy("trial").agg(F.min("start_s").alias("measured_s"))
    faults = tables["faults"].join(measured, "trial").where("ends_s >= measured_s").drop("measured_s")
    success = F.col("lookup_success") * F.col("lookups") if "lookups" in series.columns else F.lit(None)
    looked_up = F.col("lookups") if "lookups" in series.columns else F.lit(None)
    values = series.select(
        *("trial", "start_s", "end_s", "delivered", "expected"),
        success.cast("double").alias("succeeded"),
        looked_up.cast("double").alias("looked_up"),
        F.col("maintenance_messages").alias("maintained"),
    )
    first = faults.select("trial", "first_s").distinct()
    before = (
        values.join(first, "trial")
        .where(F.col("end_s") <= F.col("first_s"))
        .groupBy("trial")
        .agg(
            _ratio("delivered", "expected").alias("hit_ratio_before"),
            _ratio("succeeded", "looked_up").alias("lookup_success_before"),
            F.avg("maintained").alias("maintenance_before"),
        )
    )
    rest = (
        Window.partitionBy("trial", "fault")
        .orderBy("start_s")
        .rowsBetween(Window.currentRow, Window.unboundedFollowing)
    )

    def good(part: str, whole: str, then: str) -> Column:
        """Return whether the ratio is as before, in the interval and from it on."""
        least = (1 - _WITHIN) * F.col(then)
        here = F.try_divide(part, whole)
        return (here >= least) & (F.try_divide(F.sum(part).over(rest), F.sum(whole).over(rest)) >= least)

    calm = F.avg("maintained").over(rest) <= (1 + _WITHIN) * F.col("maintenance_before")
    after = (
        faults.join(values, "trial")
        .where((F.col("start_s") >= F.col("ends_s")) & (F.col("end_s") <= F.col("quiet_until_s")))
        .join(before, "trial")
        .select(
            *("trial", "fault", (F.col("start_s") - F.col("ends_s")).alias("since_s")),
            good("delivered", "expected", "hit_ratio_before").alias("recovery_s"),
            good("succeeded", "looked_up", "lookup_success_before").alias("lookup_recovery_s"),
            calm.alias("maintenance_recovery_s"),
        )
        .groupBy("trial", "fault")
        .agg(*(F.min(F.when(F.col(name), F.col("since_s"))).alias(name) for name in _MEASURES))
    )
    return (
        faults.join(before, "trial", "left")
        .join(after, ["trial", "fault"], "left")
        .select("trial", "fault", *_TIMES, *_BEFORE, *_MEASURES)
    )


def _longest(tables: Tables) -> DataFrame:
    """Return the longest time (s) until each value is back: null where it is not, after some fault."""
    return tables["recoveries"].groupBy("trial").agg(
        *(F.when(F.count_if(F.col(name).isNull()) == 0, F.max(name)).alias(name) for name in _MEASURES)
    )  # fmt: skip


def _ratio(part: str, whole: str) -> Column:
    return F.try_divide(F.sum(part), F.sum(whole))


RECOVERY = MeasureGroup(
    grouped(
        {"Recovery": ("recovery", "lookup_recovery", "maintenance_recovery")}, defined(_FORMULAS, _MEASURES)
    ),
    (_longest,),
)
"""The measures of trials that have faults, or an attack for a time."""
