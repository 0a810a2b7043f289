"""Peers of each region ask for things and get them; this table counts both, where the network has regions.

The table `regions` has one row for each region and sort of outcome of a trial whose peers are in regions:
region, outcome ("deliveries" that were expected there, "lookups" and "gets" that were asked there), peers
bigint (in the region), asked bigint, done bigint (delivered; ended at the right peer; found), share? (done /
asked), delay_ms? (mean of those done).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord
from analysis.tables.plan import read_plan


def have_regions(records: Sequence[TrialRecord]) -> bool:
    """Return whether peers of any of these trials are in regions."""
    return any(record.spec.network.has_regions for record in records)


def homes(spark: SparkSession, records: Sequence[TrialRecord]) -> DataFrame:
    """Return the region of each peer that is in one: trial, peer, region."""
    peers = read_plan(spark, list(records), "peers")
    return peers.select("trial", "peer", "region").where("region is not null")


def regions(spark: SparkSession, records: list[TrialRecord], tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of the table `regions`: for each region and sort of outcome those that were asked for.

    Deliveries belong to the region of the peer that was to get the event, all else to that of the peer that
    asked.
    """
    home = homes(spark, records)
    counted = home.groupBy("trial", "region").agg(F.count("*").alias("peers"))
    parts = [
        _of(tables["deliveries"].where("expected"), "peer", "deliveries", F.col("delivered"), home),
        _of(tables["lookups"].where("counted"), "origin", "lookups", F.col("right"), home),
    ]
    if "gets" in tables:
        gets = tables["gets"].where("counted and newest is not null")
        parts.append(_of(gets, "peer", "gets", F.coalesce(F.col("version") > 0, F.lit(False)), home))
    share = F.try_divide("done", "asked").alias("share")
    columns = ("trial", "region", "outcome", "peers", "asked", "done", share, "delay_ms")
    return reduce(DataFrame.unionByName, parts).join(counted, ["trial", "region"]).select(*columns)


def _of(rows: DataFrame, peer: str, outcome: str, done: Column, home: DataFrame) -> DataFrame:
    """Return how many of these rows there are in each region, how many are done, and how long those took."""
    told = rows.withColumn("done", done).withColumn("done_ms", F.when(done, F.col("delay_ms")))
    return (
        told.withColumnRenamed(peer, "at_peer")
        .join(home.withColumnRenamed("peer", "at_peer"), ["trial", "at_peer"])
        .groupBy("trial", "region")
        .agg(
            F.count("*").alias("asked"),
            F.count_if("done").alias("done"),
            (F.avg(F.round(F.col("done_ms") * 1e6).cast("bigint")) / 1e6).alias("delay_ms"),
        )
        .withColumn("outcome", F.lit(outcome))
    )
