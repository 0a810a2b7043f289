"""Successors of peers on a ring, by the identifiers that peers told."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analysis.contract.measures import Tables
from analysis.measures.aggregates import share_of
from analysis.tables.identifiers import CLOCK_SLACK_S
from emulator.contract.identifiers import ClockwiseRing, Ring

HEX_DIGITS = 64
"""The digits of the longest identifiers: as text of this length they sort as numbers do."""
OVERLAY = ("trial", "channel")
"""The columns that name a ring: that of an overlay in a trial."""


def with_next(places: DataFrame, place: str, peer: str) -> DataFrame:
    """Return the rows of peers on rings, with the column `next`: the peer at the next place.

    The first comes after the last. `places` has trial and channel, and by these names of columns the place,
    as text of `HEX_DIGITS`, and the peer.
    """
    ring = Window.partitionBy(*OVERLAY)
    following = F.lead(peer).over(ring.orderBy(place, peer))
    first = F.min(F.struct(place, peer)).over(ring)[peer]
    return places.withColumn("next", F.coalesce(following, first))


def wrong_successors(tables: Tables) -> DataFrame:
    """Return the share of successor links that lead to another peer than the next one on the ring."""
    taken = (
        tables["identifiers"]
        .where(F.col("space").isin(Ring.name, ClockwiseRing.name))
        .select(
            *OVERLAY,
            "peer",
            F.col("at_s").alias("taken_s"),
            F.lpad("identifier", HEX_DIGITS, "0").alias("id"),
        )
    )
    told = (
        tables["links"]
        .where("moment = 'start' and kind = 'successor'")
        .join(taken, [*OVERLAY, "peer"])
        .where(F.col("taken_s") <= F.col("at_s") + CLOCK_SLACK_S)
        .groupBy(*OVERLAY, "peer", "neighbour")
        .agg(F.max_by("id", "taken_s").alias("id"))
    )
    return (
        with_next(told, "id", "peer")
        .groupBy("trial")
        .agg(share_of(F.col("neighbour") != F.col("next"), F.lit(True)).alias("wrong_successors"))
    )
