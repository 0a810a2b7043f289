"""The messages that the network's loss took, and those that faults, links and busy peers stopped, delayed,
doubled or damaged, over the whole trial.

The table `disruptions` has one row for each cause and interval in which there were any, of runs with loss,
faults, bandwidth or busy peers: cause ("loss", "fault NAME", "fault NAME delays", "fault NAME duplicates",
"fault NAME corrupts", "up link drop", "down link drop", "processing drop"), start_s, end_s, messages bigint,
bytes bigint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from emulator.faults.network_faults import FAULT
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP
from emulator.network.busy_peers import PROCESSING_DROP

_DROPS = (UP_LINK_DROP, DOWN_LINK_DROP, PROCESSING_DROP)


def may_be_disrupted(records: Sequence[TrialRecord]) -> bool:
    """Return whether the network of any of these trials may stop messages by faults, links or busy peers."""
    specs = [record.spec for record in records]
    return any(spec.faults or spec.network.bandwidth or spec.processing for spec in specs)


def disruptions(tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of the table `disruptions`, from the table `lost_messages` and the observations that
    peers recorded of messages."""
    hit = F.col("name").startswith(f"{FAULT} ") & (F.col("unit") == "bytes")
    told = tables["observations"].where(hit | F.col("name").isin(*_DROPS))
    slot = F.floor(F.col("at_s") / F.col("interval_s"))
    recorded = (
        told.join(tables["trials"].select("trial", "interval_s"), "trial")
        .groupBy("trial", F.col("name").alias("cause"), slot.alias("slot"))
        .agg(
            F.first("interval_s").alias("interval_s"),
            F.count("*").alias("messages"),
            F.sum("value").cast("bigint").alias("bytes"),
        )
        .select(
            *("trial", "cause", (F.col("slot") * F.col("interval_s")).alias("start_s")),
            ((F.col("slot") + 1) * F.col("interval_s")).alias("end_s"),
            *("messages", "bytes"),
        )
    )
    lost = (
        tables["lost_messages"]
        .groupBy("trial", F.lit("loss").alias("cause"), "start_s", "end_s")
        .agg(F.sum("lost").alias("messages"), F.sum("lost_bytes").alias("bytes"))
        .where("messages > 0")
    )
    return recorded.unionByName(lost)
