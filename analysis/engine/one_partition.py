"""Frames of one partition, from which a session for little telemetry gets its results fastest."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession


def is_for_little(spark: SparkSession) -> bool:
    """Return whether the session is for little telemetry, so that one task is enough for each step."""
    return spark.conf.get("spark.sql.shuffle.partitions") == "1"


def gathered(frame: DataFrame) -> DataFrame:
    """Return the frame, in one partition if the session is for little telemetry.

    What is made of frames of one partition needs no shuffle, whose tasks take longer than what they do.
    """
    return frame.coalesce(1) if is_for_little(frame.sparkSession) else frame
