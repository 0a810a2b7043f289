"""A Spark session that needs no Java on the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from analysis.gateway import Java

_HERE = "127.0.0.1"
_ONE_ENCODING = {
    "spark.hadoop.parquet.enable.dictionary": "false",
    "spark.hadoop.parquet.writer.version": "v2",
}
"""A Parquet footer lists a column's encodings in an order that differs from JVM to JVM."""
_FOR_LITTLE = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Spark interprets its plans: with little telemetry, compiling them takes longer than running them."""
_COMPILED_ONCE = ("-XX:TieredStopAtLevel=1",)
_SETTINGS = {
    **_ONE_ENCODING,
    "spark.app.name": "trellis",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Processes of Python that differ in this setting cannot be shared.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_java: Java | None = None
"""Of this process: pyspark keeps one JVM for all its sessions."""


def spark_session(cores: int | None = None, *, optimize: bool = False) -> SparkSession:
    """The session of this process, on `cores` cores of this machine (all by default).

    With `optimize` Spark compiles its plans, and Java compiles what runs often a second time, and better:
    slower for little telemetry, faster for much. The caller stops the session. Raises JavaError if the JVM
    does not start.
    """
    cores = cores or os.cpu_count() or 1
    settings = {"spark.driver.bindAddress": _HERE, **({} if optimize else _FOR_LITTLE)}
    return start_session(f"local[{cores}]", cores, _HERE, settings, () if optimize else _COMPILED_ONCE)


def start_session(
    master: str, tasks: int, address: str, settings: Mapping[str, str], flags: tuple[str, ...] = _COMPILED_ONCE
) -> SparkSession:
    """The session of this process; `tasks` is how many can run at once, `address` where executors find it.

    `flags` are Java's, if its JVM does not run yet. The caller stops the session. Raises JavaError if the JVM
    does not start.
    """
    global _java
    every = {
        **_SETTINGS,
        **settings,
        "spark.driver.host": address,
        "spark.master": master,
        "spark.sql.shuffle.partitions": str(tasks),
    }
    builder = SparkSession.builder
    for key, value in every.items():
        builder = builder.config(key, value)
    _java = _java or Java(every, address, flags)
    with _java.connection():
        return builder.getOrCreate()


def close_java(limit: float) -> None:
    """End the JVM of this process, in which no session runs any more; it has `limit` seconds to do so."""
    if _java is not None:
        _java.close(limit)
