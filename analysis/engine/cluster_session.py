"""A Spark session whose executors are pods that this pod starts, and waiting for executors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from analysis.engine.executors import ClusterError, Executors
from analysis.engine.spark_session import start_session

_FIRST_EXECUTOR_LIMIT = 600.0
"""The seconds within which one executor has to be there; its image may have to be fetched."""
_PAUSE = 1.0


@contextmanager
def cluster_session(
    executors: Executors, sleep: Callable[[float], None] = time.sleep
) -> Iterator[SparkSession]:
    """Yield a session with at least one executor; the executors are gone at the end.

    Raises ClusterError if none starts in time, and JavaError if the JVM does not.
    """
    tasks = executors.count * executors.cores
    address = executors.environment["POD_IP"]
    with start_session(executors.master, tasks, address, executors.settings()) as spark:
        namespace = executors.environment["POD_NAMESPACE"]
        advice = f"See why: kubectl --namespace {namespace} describe pods --selector spark-role=executor"
        await_executor(spark, advice, sleep)
        yield spark


def executors_of(spark: SparkSession) -> int:
    """Return how many executors there are now, without the driver itself, which Spark counts too."""
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def await_executor(spark: SparkSession, advice: str, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait for the first executor. Raises ClusterError with the advice if none comes in time."""
    deadline = time.monotonic() + _FIRST_EXECUTOR_LIMIT
    while not executors_of(spark):
        if time.monotonic() > deadline:
            raise ClusterError(f"no executor of Spark started in {_FIRST_EXECUTOR_LIMIT:g} s. {advice}")
        sleep(_PAUSE)
