"""A Spark session whose executors are pods that this pod starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from analysis.executors import ClusterError, Executors
from analysis.session import start_session

_FIRST_EXECUTOR_LIMIT = 600.0
"""Seconds until one executor has to be there; its image may have to be fetched."""
_PAUSE = 1.0


@contextmanager
def cluster_session(
    executors: Executors, sleep: Callable[[float], None] = time.sleep
) -> Iterator[SparkSession]:
    """A session with at least one executor; they are gone at the end.

    Raises ClusterError if none starts in time, and pyspark.errors.PySparkRuntimeError if the JVM does not.
    """
    tasks = executors.count * executors.cores
    address = executors.environment["POD_IP"]
    with start_session(executors.master, tasks, address, executors.settings()) as spark:
        _await_executor(spark, executors, sleep)
        yield spark


def _await_executor(spark: SparkSession, executors: Executors, sleep: Callable[[float], None]) -> None:
    deadline = time.monotonic() + _FIRST_EXECUTOR_LIMIT
    # The driver itself is one of them.
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 2:
        if time.monotonic() > deadline:
            raise ClusterError(
                f"none of {executors.count} executors started in {_FIRST_EXECUTOR_LIMIT:g} s. See why: "
                f"kubectl --namespace {executors.environment['POD_NAMESPACE']} describe pods "
                "--selector spark-role=executor"
            )
        sleep(_PAUSE)
