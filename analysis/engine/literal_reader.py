"""Reading files with Spark."""

from __future__ import annotations

from pyspark.sql import DataFrameReader, SparkSession


def literal_reader(spark: SparkSession) -> DataFrameReader:
    """Return a reader that takes paths as they are; Spark's own takes `[`, `{`, `*` and `?` for patterns.

    With patterns, it would read what a neighbouring folder has, or nothing.
    """
    return spark.read.option("__globPaths__", "false")
