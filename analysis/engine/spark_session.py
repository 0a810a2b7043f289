"""A Spark session that needs no Java on the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from analysis.engine.interruptions import own_interruptions, without_tracebacks
from analysis.engine.ipv6_gateway import SETTINGS as BY_IPV6
from analysis.engine.ipv6_gateway import gateway_by_ipv6
from analysis.engine.jvm import HEAP, NOBODY, Java, has_entry
from emulator.network.loopback import bracketed, is_six, loopback

_ONE_ENCODING = {
    "spark.hadoop.parquet.enable.dictionary": "false",
    "spark.hadoop.parquet.writer.version": "v2",
}
"""Settings that leave a column one encoding: a Parquet footer lists several in an order of that JVM alone."""
_PLAIN_FILES = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Settings for local files: Hadoop would start a process for each file and each of its checksums, to set its
mode."""
_NO_NEED = {
    # Spark would list the folders of more than 32 trials by a job with a task for each of them.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.variant.pushVariantIntoScan": "false",
    # Spark would note the line of Python code that made each column, by ten calls from Python to Java.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    # Spark describes each plan for its web page, which nobody serves; this description takes the least time.
    "spark.sql.ui.explainMode": "simple",
}
"""Settings against ways to plan that examine each query of the analysis and help none."""
_FOR_LITTLE = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.files.minPartitionNum": "1",
    # Spark multiplies the sizes of tables to tell those of their joins, and shuffles a single partition into
    # another one where that makes too much: files count as almost nothing.
    "spark.sql.maxSinglePartitionBytes": f"{(1 << 63) - 1}b",
    "spark.sql.sources.fileCompressionFactor": "1e-9",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings for little telemetry, where compiling a plan takes longer than running it, and so does starting a
second task.

With them Spark interprets its plans, and each step of a query is one task, to which a table to join comes
without a job of its own. Some queries run at a time.
"""
_COMPILED_ONCE = ("-XX:TieredStopAtLevel=1",)
_SETTINGS = {
    **_ONE_ENCODING,
    **_PLAIN_FILES,
    **_NO_NEED,
    "spark.app.name": "trellis",
    "spark.driver.memory": HEAP,
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Python processes that differ in this setting cannot be shared.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_java: Java | None = None
"""The JVM of this process, which pyspark keeps for all its sessions."""


def spark_session(cores: int | None = None, *, optimize: bool = False) -> SparkSession:
    """Return the session of this process, on `cores` cores of this machine (all by default).

    With `optimize` Spark compiles its plans, and Java compiles what runs often a second time, and better:
    slower for little telemetry, faster for much. The caller stops the session. Raises JavaError if the JVM
    does not start.
    """
    start_java(cores, optimize=optimize)
    return _session(_here(cores, optimize))


def start_java(cores: int | None = None, *, optimize: bool = False) -> bool:
    """Start the JVM of such a session unless one runs. Returns at once, with whether the JVM is a new one."""
    return _start(_here(cores, optimize), loopback(), () if optimize else _COMPILED_ONCE)


def start_session(master: str, tasks: int, address: str, settings: Mapping[str, str]) -> SparkSession:
    """Return the session of this process; `tasks` is how many can run at once, `address` where executors find
    it.

    The caller stops it. Raises JavaError if the JVM does not start.
    """
    every = _every(master, tasks, address, settings)
    _start(every, address, _COMPILED_ONCE)
    return _session(every)


def close_java(limit: float) -> None:
    """End the JVM of this process, which has `limit` seconds to end by itself. No session starts again."""
    if _java is not None:
        _java.close(limit)


def _here(cores: int | None, optimize: bool) -> dict[str, str]:
    cores = cores or os.cpu_count() or 1
    return _every(
        f"local[{cores}]",
        cores,
        loopback(),
        {"spark.driver.bindAddress": bracketed(loopback()), **({} if optimize else _FOR_LITTLE)},
    )


def _every(master: str, tasks: int, address: str, settings: Mapping[str, str]) -> dict[str, str]:
    return {
        **_SETTINGS,
        **(BY_IPV6 if is_six() else {}),
        "spark.driver.host": bracketed(address),
        "spark.master": master,
        "spark.sql.shuffle.partitions": str(tasks),
        **settings,
    }


def _start(settings: Mapping[str, str], address: str, flags: tuple[str, ...]) -> bool:
    global _java
    if _java is not None:
        return False
    _java = Java(settings, address, flags)
    return True


def _session(settings: Mapping[str, str]) -> SparkSession:
    assert _java is not None
    with _java.connection(), gateway_by_ipv6(), own_interruptions():
        if not has_entry():
            _log_in()
        builder = SparkSession.builder
        for key, value in settings.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        without_tracebacks(session)
        return session


def _log_in() -> None:
    """Give Hadoop a user, because its own log-in fails where the system has no name for this one."""
    from pyspark import SparkContext  # above, threads that import pyspark.sql would wait for each other

    SparkContext._ensure_initialized()
    assert SparkContext._jvm is not None
    users = SparkContext._jvm.org.apache.hadoop.security.UserGroupInformation
    users.setLoginUser(users.createRemoteUser(NOBODY))
