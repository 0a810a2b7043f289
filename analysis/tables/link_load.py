"""How busy peers' up links were, and what did not fit into links, by the classes of `network.bandwidth`.

The table `link_load` has one row for each class of links of a trial with bandwidth: class ("" where all peers
have the same links), peers bigint, up_bit_s bigint? (the rate; null: unlimited), load? (what a peer sent in
the measure phase, dropped messages included, over what its up link carries while it was up; mean over the
peers), load_max? (of the busiest peer), up_drops bigint, down_drops bigint (messages, in the whole trial).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from analysis.tables.plan import read_plan
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP

_CLASSES = pa.schema(
    [
        ("trial", pa.string()),
        ("link_class", pa.int32()),
        ("class", pa.string()),
        ("up_bit_s", pa.int64()),
        ("overhead", pa.int64()),
    ]
)


def have_bandwidth(records: Sequence[TrialRecord]) -> bool:
    """Return whether links have a bandwidth in any of these trials."""
    return any(record.spec.network.bandwidth is not None for record in records)


def link_load(spark: SparkSession, records: list[TrialRecord], tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of the table `link_load`, from the plan, the peers' counters and their observations."""
    classes = F.broadcast(spark.createDataFrame(pa.Table.from_pylist(_classes(records), _CLASSES)))
    peers = read_plan(spark, records, "peers").select("trial", "peer", "link_class")
    sent = (
        tables["counters"]
        .groupBy("trial", "peer")
        .agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))
    )
    dropped = (
        tables["observations"]
        .groupBy("trial", "peer")
        .agg(
            F.count_if(F.col("name") == UP_LINK_DROP).alias("up_drops"),
            F.count_if(F.col("name") == DOWN_LINK_DROP).alias("down_drops"),
        )
    )
    bits = 8 * (F.col("bytes") + F.col("messages") * F.col("overhead"))
    load = F.try_divide(bits, F.col("up_bit_s") * F.col("up_s"))
    return (
        peers.join(classes, ["trial", "link_class"])
        .join(tables["traffic"].select("trial", "peer", "up_s"), ["trial", "peer"], "left")
        .join(sent, ["trial", "peer"], "left")
        .join(dropped, ["trial", "peer"], "left")
        .withColumn("load", load)
        .groupBy("trial", "class", "up_bit_s")
        .agg(
            F.count("*").alias("peers"),
            F.avg("load").alias("load"),
            F.max("load").alias("load_max"),
            F.coalesce(F.sum("up_drops"), F.lit(0)).alias("up_drops"),
            F.coalesce(F.sum("down_drops"), F.lit(0)).alias("down_drops"),
        )
        .select("trial", "class", "peers", "up_bit_s", "load", "load_max", "up_drops", "down_drops")
    )


def _classes(records: Sequence[TrialRecord]) -> list[dict[str, object]]:
    """Return the classes of links of all trials that have any."""
    rows: list[dict[str, object]] = []
    for record in records:
        network = record.spec.network
        if network.bandwidth is None:
            continue
        given = [(each.name, each.up) for each in network.bandwidth.classes]
        for index, (name, up) in enumerate(given or [("", network.bandwidth.up)]):
            row = {"link_class": index, "class": name, "up_bit_s": up, "overhead": network.overhead}
            rows.append({"trial": record.name} | row)
    return rows
