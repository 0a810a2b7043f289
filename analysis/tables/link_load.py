"""How busy peers' links were, how long messages waited there, and what did not fit, by the classes of
`network.bandwidth`.

The table `link_load` has two rows for each class of links of a trial with bandwidth: class ("" where all
peers have the same links), way ("up" or "down"), peers bigint, bit_s bigint? (the rate; null: unlimited),
load? (what the links of the class took in during the measure phase over what they can carry while their peers
are up), load_max? (of the busiest peer's up link, dropped messages included; null for down links), achieved?
(the rate in bit/s at which messages left busy links in the measure phase), wait_ms?, wait_p99_ms?,
wait_max_ms? (by how much messages of the measure phase were later at the link's end than alone on the link;
mean, 99th percentile, longest; null where the kernel limits links), drops bigint (messages, in the whole
trial; the kernel drops packets, which TCP sends again, and no messages). The load of links that the kernel
limits is that of packets with their headers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from analysis.engine.one_partition import few
from analysis.tables.plan import read_plan
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP

_LINKS = pa.schema(
    [
        ("trial", pa.string()),
        ("link_class", pa.int32()),
        ("class", pa.string()),
        ("way", pa.string()),
        ("bit_s", pa.int64()),
        ("overhead", pa.int64()),
        ("carried", pa.int64()),
        ("achieved", pa.float64()),
        ("wait_ms", pa.float64()),
        ("wait_p99_ms", pa.float64()),
        ("wait_max_ms", pa.float64()),
    ]
)
_MEASURED = {
    "achieved": "achieved_bit_s",
    "wait_ms": "wait_mean_ms",
    "wait_p99_ms": "wait_p99_ms",
    "wait_max_ms": "wait_max_ms",
}
"""The columns of what hosts measured, and what they are in the fidelity of a trial."""


def have_bandwidth(records: Sequence[TrialRecord]) -> bool:
    """Return whether links have a bandwidth in any of these trials."""
    return any(record.spec.network.bandwidth is not None for record in records)


def link_load(spark: SparkSession, records: list[TrialRecord], tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of the table `link_load`, from the plan, what hosts told of links, the peers' counters
    and their observations."""
    links = few(spark.createDataFrame(pa.Table.from_pylist(_links(records), _LINKS)))
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
    is_up = F.col("way") == "up"
    bits = 8 * (F.col("bytes") + F.col("messages") * F.col("overhead"))
    busy = F.try_divide(bits, F.col("bit_s") * F.col("up_s"))
    load = F.try_divide(8 * F.col("carried"), F.col("bit_s") * F.sum("up_s"))
    return (
        peers.join(links, ["trial", "link_class"])
        .join(tables["traffic"].select("trial", "peer", "up_s"), ["trial", "peer"], "left")
        .join(sent, ["trial", "peer"], "left")
        .join(dropped, ["trial", "peer"], "left")
        .withColumn("busy", F.when(is_up, busy))
        .withColumn("drops", F.when(is_up, F.col("up_drops")).otherwise(F.col("down_drops")))
        .groupBy("trial", "link_class", "class", "way", "bit_s", "carried", *_MEASURED)
        .agg(
            F.count("*").alias("peers"),
            load.alias("load"),
            F.max("busy").alias("load_max"),
            F.coalesce(F.sum("drops"), F.lit(0)).alias("drops"),
        )
        .select("trial", "class", "way", "peers", "bit_s", "load", "load_max", *_MEASURED, "drops")
    )


def _links(records: Sequence[TrialRecord]) -> list[dict[str, object]]:
    """Return the classes of links of all trials that have any, for each direction."""
    rows: list[dict[str, object]] = []
    for record in records:
        network = record.spec.network
        if network.bandwidth is None:
            continue
        told = {(each["link_class"], each["way"]): each for each in record.fidelity.get("links", ())}
        given = [(each.name, each.up, each.down) for each in network.bandwidth.classes]
        for index, (name, *rates) in enumerate(given or [("", network.bandwidth.up, network.bandwidth.down)]):
            for way, rate in zip(("up", "down"), rates, strict=True):
                use = told.get((index, way), {})
                row = {"link_class": index, "class": name, "way": way, "bit_s": rate}
                row |= {"overhead": network.overhead, "carried": use.get("bytes")}
                row |= {column: use.get(figure) for column, figure in _MEASURED.items()}
                rows.append({"trial": record.name} | row)
    return rows
