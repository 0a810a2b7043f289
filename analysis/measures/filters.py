"""The traffic of filters."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.measures import Tables


def filter_traffic(tables: Tables) -> DataFrame:
    """Return one row a trial: bytes of filters that a peer sends in a second of the measure phase."""
    up = tables["traffic"].groupBy("trial").agg(F.sum("up_s").alias("up_s"))
    return (
        tables["messages"]
        .where("message = 'GradientUpdate'")
        .groupBy("trial")
        .agg(F.sum("bytes").alias("bytes"))
        .join(up, "trial")
        .select("trial", (F.col("bytes") / F.col("up_s")).alias("filter_bytes_per_s"))
    )
