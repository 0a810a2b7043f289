"""The accuracy of gradients: how many are false or stale, and what becomes of copies that followed these.

Peers keep counts of copies that came to them by a gradient, by its level, as
`emulator.protocols.pubsub.quasar.system` has it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.contract.measures import Tables

LEVELS = 3
"""The number of levels whose gradients are told apart, those of the paper; deeper ones count with
all others."""


def filters_kept(tables: Tables) -> DataFrame:
    """Return the most bytes of its neighbours' filters that a peer keeps when the measure phase ends."""
    states = tables["states"].where("moment = 'end'")
    return states.groupBy("trial").agg(
        F.max(F.when(F.col("name") == "filter_bytes", F.col("value"))).alias("filter_bytes_max")
    )


def gradients(tables: Tables) -> DataFrame:
    """Return the shares that follow from the peers' counts of copies when the measure phase ends."""
    states = tables["states"].where("moment = 'end'")
    counts = states.select(
        "trial",
        F.regexp_extract("name", r"^(directed|astray|recovered)_(\d+)$", 1).alias("count"),
        F.regexp_extract("name", r"_(\d+)$", 1).try_cast("int").alias("level"),
        "value",
    ).where("count != ''")

    def total(name: str, level: int | None = None) -> Column:
        is_meant = F.col("count") == name
        if level is not None:
            is_meant &= F.col("level") == level
        return F.sum(F.when(is_meant, F.col("value")))

    return counts.groupBy("trial").agg(
        F.try_divide(total("astray"), total("directed")).alias("gradients_false"),
        F.try_divide(total("recovered"), total("astray")).alias("gradients_recovered"),
        *(
            F.try_divide(total("astray", level), total("directed", level)).alias(f"gradients_false_{level}")
            for level in range(LEVELS)
        ),
    )
