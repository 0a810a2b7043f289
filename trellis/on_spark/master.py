"""The Spark cluster on which a sweep is to run, as `--on` names it."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from analysis.engine.cluster_session import await_executor
from analysis.engine.executors import ClusterError
from analysis.engine.jvm import JavaError
from analysis.engine.spark_session import start_session
from emulator.network.loopback import loopback

_LOCAL = re.compile(r"local(\[([1-9]\d{0,3}|\*)(,\d{1,4})?\])?")
"""The local masters that are accepted: Spark does not start with more threads, and does not say so."""
_STANDALONE = re.compile(r"spark://(?P<places>[^/\s]+)")
_ANSWER_LIMIT = 5.0
"""The seconds in which a master has to take a connection."""
_ADVICE = (
    "Its page says which workers it has: each needs a free core and 1 GiB, and must reach this machine. "
    "PYSPARK_PYTHON names the Python of the workers, if Trellis is not in {python} there"
)


def find_address(master: str) -> str:
    """Return the address at which executors find this machine. Raises ClusterError."""
    if _LOCAL.fullmatch(master):
        return loopback()
    if (match := _STANDALONE.fullmatch(master)) is None:
        raise ClusterError(
            f"--on {master}: a sweep runs on a master such as spark://host:7077, or on local[4]. "
            "In Kubernetes: --on kubernetes --set runtime.kind=virtual"
        )
    reasons = []
    for place in match["places"].split(","):
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_LIMIT) as connection:
                return str(connection.getsockname()[0])
        except (OSError, ValueError, OverflowError) as error:
            reasons.append(f"{place}: {error}")
    raise ClusterError(
        f"--on {master}: no master answers ({'; '.join(reasons)}). Its URL is the headline of its page"
    )


@contextmanager
def session_on(master: str, jobs: int | None) -> Iterator[SparkSession]:
    """Open a session of Spark on this cluster, with at least one executor; it is stopped at the end.

    `jobs` is the most cores that it takes, by default all. Raises ClusterError if the URL is none that a
    sweep can use, or if master or executors cannot be had.
    """
    address = find_address(master)
    settings = {"spark.cores.max": str(jobs)} if jobs else {}
    try:
        session = start_session(master, jobs or 1, address, settings)
    except (JavaError, PySparkRuntimeError, OSError) as error:
        raise ClusterError(f"Spark does not start on {master}: {error}") from None
    with session as spark:
        if not master.startswith("local"):
            python = os.environ.get("PYSPARK_PYTHON", sys.executable)
            spark.sparkContext.pythonExec = python
            await_executor(spark, _ADVICE.format(python=python))
        yield spark
