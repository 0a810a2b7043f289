"""The messages that the network's loss took, by type and in time, over the whole trial.

The loss is that of `network.loss`, of classes of links, and between regions or places. What faults, full
links and busy peers stop is not among it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from emulator.telemetry import names

LOST_MESSAGES: Final = (
    "trial string, message string, kind string, channel string, traffic string, start_s double, "
    "end_s double, sent bigint, lost bigint, lost_bytes bigint"
)
"""The columns of the table."""
_COUNTED: Final = {
    names.SENT_MESSAGES: "sent",
    names.LOST_MESSAGES: "lost",
    names.LOST_BYTES: "lost_bytes",
}
_TYPE: Final = ("message", "kind", "channel")
_MESSAGE: Final = (*_TYPE, "traffic")


def lost_messages(tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of the table `lost_messages`: the messages of each type of which any trial lost some.

    So the trials of a run have the same types, also where one of them lost none of a type. Hosts read their
    counters each metrics interval. The growth since the reading before belongs to the interval in which the
    middle between both lies. A counter is there from the first message that it counts on, so its first
    growth belongs to the interval before its first reading.
    """
    readings = (
        tables["points"]
        .where(F.col("name").isin(*_COUNTED))
        .join(tables["trials"].select("trial", "interval_s"), "trial")
        .withColumn("channel", F.coalesce("channel", F.lit("")))
    )
    in_time = Window.partitionBy("trial", "host", "incarnation", "name", *_MESSAGE).orderBy("at_s")
    growth = F.col("value") - F.lag("value", 1, 0.0).over(in_time)
    since_s = F.coalesce(F.lag("at_s").over(in_time), F.col("at_s") - F.col("interval_s"))
    slot = F.floor((F.col("at_s") + since_s) / 2 / F.col("interval_s"))
    of_type = Window.partitionBy(*_TYPE)
    return (
        readings.select(
            *("trial", *_MESSAGE, "name", "interval_s"), slot.alias("slot"), growth.alias("growth")
        )
        .groupBy("trial", *_MESSAGE, "slot")
        .agg(
            F.first("interval_s").alias("interval_s"),
            *(
                F.coalesce(F.sum(F.when(F.col("name") == name, F.col("growth"))), F.lit(0.0))
                .cast("bigint")
                .alias(column)
                for name, column in _COUNTED.items()
            ),
        )
        .withColumn("lost_of_type", F.sum("lost").over(of_type))
        .where("lost_of_type > 0")
        .select(
            *("trial", *_MESSAGE, (F.col("slot") * F.col("interval_s")).alias("start_s")),
            ((F.col("slot") + 1) * F.col("interval_s")).alias("end_s"),
            *_COUNTED.values(),
        )
    )
