"""Frames of one partition, from which a session for little telemetry gets its results fastest."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def is_for_little(spark: SparkSession) -> bool:
    """Return whether the session is for little telemetry, so that one task is enough for each step."""
    return spark.conf.get("spark.sql.shuffle.partitions") == "1"


def gathered(frame: DataFrame) -> DataFrame:
    """Return the frame, in one partition if the session is for little telemetry.

    What is made of frames of one partition needs no shuffle, whose tasks take longer than what they do. Spark
    has to be told so of an inner join too before the next join: it forgets that both sides were one.
    """
    return frame.coalesce(1) if is_for_little(frame.sparkSession) else frame


def few(frame: DataFrame) -> DataFrame:
    """Return the frame as the side of a join that has few rows: every task gets all of them.

    In a session for little telemetry the one task of the join makes them itself, where a broadcast would take
    a job.
    """
    if is_for_little(frame.sparkSession):
        return frame.coalesce(1).hint("shuffle_hash")
    return F.broadcast(frame)
