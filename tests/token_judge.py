"""The analysis of the walks of tokens: how many arrived, and how late."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.contract.measures import Measure, MeasureGroup, Tables
from analysis.contract.workload_analysis import WorkloadAnalysis


def _arrivals(tables: Tables) -> DataFrame:
    walks = tables["operations"].where("operation = 'walk'").select("trial", "number", "at_s")
    ends = tables["completions"].where("operation = 'walk'").withColumnRenamed("at_s", "end_s")
    both = walks.join(ends, ["trial", "number"], "left")
    return both.groupBy("trial").agg(
        F.count_if(F.col("end_s").isNotNull()).alias("arrivals"),
        F.avg(F.col("end_s") - F.col("at_s")).alias("walk_s"),
        F.avg("value").alias("badges_met"),
    )


JUDGE = WorkloadAnalysis(
    measures=(
        MeasureGroup(
            {
                "arrivals": Measure("Arrivals", "tokens", "higher", "Tokens that reached their last peer."),
                "walk_s": Measure("Walk", "s", "lower", "The mean time of a walk that arrived."),
                "badges_met": Measure("Badges met", "badges", None, "The mean at the last peers."),
            },
            (_arrivals,),
        ),
    )
)
