"""A Spark session that needs no Java on the machine."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.java import JAVA, LEFT_OUT, LOG

_SHIM = """#!/bin/sh
for argument do
    shift
    case $argument in
        {left_out}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""
_HERE = "127.0.0.1"
_GARBAGE_COLLECTOR = "-XX:+UseSerialGC"
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
_SETTINGS = {
    **_ONE_ENCODING,
    "spark.driver.extraJavaOptions": f"{_GARBAGE_COLLECTOR} -XX:TieredStopAtLevel=1",
    "spark.driver.memory": "2g",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def _environment(address: str) -> Iterator[None]:
    """What the JVM must find in the environment while it is started. A shim drops options."""
    with tempfile.TemporaryDirectory(prefix="trellis-java-") as home:
        shim = Path(home) / "bin" / "java"
        shim.parent.mkdir()
        shim.write_text(_SHIM.format(left_out=" | ".join(LEFT_OUT), java=shlex.quote(JAVA)))
        shim.chmod(0o755)
        (Path(home) / "log4j2.properties").write_text(LOG)
        ours = {
            "JAVA_HOME": home,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_CONF_DIR": home,
            "SPARK_LOCAL_IP": address,
        }
        before = {name: os.environ.get(name) for name in ours}
        os.environ.update(ours)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def spark_session(cores: int | None = None, *, optimize: bool = False) -> SparkSession:
    """The session of this process, on `cores` cores of this machine (all by default).

    With `optimize` Spark compiles its plans, and Java compiles what runs often a second time, and better:
    slower for little telemetry, faster for much. The caller stops the session. Raises
    pyspark.errors.PySparkRuntimeError if the JVM does not start.
    """
    cores = cores or os.cpu_count() or 1
    compiled = {"spark.driver.extraJavaOptions": _GARBAGE_COLLECTOR}
    settings = {"spark.driver.bindAddress": _HERE, **(compiled if optimize else _FOR_LITTLE)}
    return start_session(f"local[{cores}]", cores, _HERE, settings)


def start_session(master: str, tasks: int, address: str, settings: Mapping[str, str]) -> SparkSession:
    """The session of this process; `tasks` is how many can run at once, `address` where executors find it.

    The caller stops it. Raises pyspark.errors.PySparkRuntimeError if the JVM does not start.
    """
    builder = SparkSession.builder.master(master).appName("trellis")
    for key, value in {**_SETTINGS, **settings, "spark.driver.host": address}.items():
        builder = builder.config(key, value)
    with _environment(address):
        return builder.config("spark.sql.shuffle.partitions", tasks).getOrCreate()
