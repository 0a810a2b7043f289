"""The distribution of the number of neighbours, beside its mean and maximum."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.measures import Tables

MANY = (15, 200)
"""The numbers of neighbours above which peers are counted (Vitis, IV.E)."""


def degrees(tables: Tables) -> DataFrame:
    """Return one row a trial, about different neighbours on any channel when the measure phase ends."""
    found = (
        tables["links"]
        .where("moment = 'end'")
        .groupBy("trial", "peer")
        .agg(F.count_distinct("neighbour").alias("degree"))
    )
    return found.groupBy("trial").agg(
        F.stddev_pop("degree").alias("neighbours_sd"),
        *(F.avg((F.col("degree") > n).cast("double")).alias(f"neighbours_above_{n}") for n in MANY),
    )
