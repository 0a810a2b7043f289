"""Messages for every peer: who was to get each, when most and the last of them had it, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.engine.one_partition import few
from analysis.tables.deliveries import JOIN_GRACE_S, LEAVE_GRACE_S, MARGIN_S, events

BROADCASTS: Final = (
    "trial string, event int, at_s double, publisher int, payload_bytes int, expected bigint, "
    "reached bigint, delivered bigint, copies bigint, others bigint, redundancy double, last_ms double, "
    "last_hops int, ms_50 double, ms_90 double, ms_99 double"
)
"""The columns of the table `broadcasts`."""
_QUANTILES: Final = (50, 90, 99)

Tables = Mapping[str, DataFrame]


def interests(tables: Tables) -> DataFrame:
    """Return the rows of the table `interests`: a message is for each peer that is up at some time after it.

    It is expected at those that were up from `JOIN_GRACE_S` before it to `LEAVE_GRACE_S` after it.
    """
    at = F.col("published_s")
    stays_until = F.least(at + LEAVE_GRACE_S, F.col("trial_end_s") - MARGIN_S)
    joined_in_time = F.col("start_s") <= at - JOIN_GRACE_S + MARGIN_S
    up = tables["sessions"].where("start_s is not null").select("trial", "peer", "start_s", "end_s")
    ends = tables["trials"].select("trial", "trial_end_s")
    return (
        events(tables)
        .select("trial", "event", "published_s")
        .join(few(ends), "trial")
        .join(up, "trial")
        .where(F.col("end_s") > at)
        .groupBy("trial", "event", "peer")
        .agg(F.bool_or(joined_in_time & (F.col("end_s") >= stays_until)).alias("expected"))
    )


def broadcasts(tables: Tables) -> DataFrame:
    """Return the rows of the table `broadcasts`."""
    expected, made = F.col("expected"), F.col("delivered")
    times = F.sort_array(F.collect_list(F.when(expected & made, F.col("delay_ms"))))
    spread = (
        tables["deliveries"]
        .groupBy("trial", "event")
        .agg(
            F.count_if(expected).alias("expected"),
            F.count_if(expected & made).alias("reached"),
            F.count_if(made).alias("delivered"),
            F.max(F.when(expected & made, F.col("delay_ms"))).alias("last_ms"),
            F.max(F.when(expected & made, F.col("hops"))).alias("last_hops"),
            times.alias("times"),
        )
    )
    cost = (
        tables["handled"]
        .groupBy("trial", "event")
        .agg(F.sum("copies").alias("copies"), F.sum("messages").alias("messages"))
    )
    planned = tables["publications"].select("trial", "event", "payload_bytes")
    copies, messages = (F.coalesce(name, F.lit(0)) for name in ("copies", "messages"))
    return (
        events(tables)
        .join(planned, ["trial", "event"])
        .join(spread, ["trial", "event"], "left")
        .join(cost, ["trial", "event"], "left")
        .select(
            *("trial", "event", F.col("published_s").alias("at_s"), "publisher", "payload_bytes"),
            *(F.coalesce(name, F.lit(0)).alias(name) for name in ("expected", "reached", "delivered")),
            copies.alias("copies"),
            (messages - copies).alias("others"),
            (F.try_divide(F.nullif("copies", F.lit(0)), F.col("delivered")) - 1).alias("redundancy"),
            *("last_ms", "last_hops"),
            *(_time_until(percent).alias(f"ms_{percent}") for percent in _QUANTILES),
        )
    )


def _time_until(percent: int) -> Column:
    """Return the time (ms) until this share of the expected peers had the message, null if never."""
    place = F.greatest(F.ceil(F.col("expected") * percent / 100), F.lit(1)).cast("int")
    return F.get("times", place - 1)
