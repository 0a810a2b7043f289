"""Spark started while the last trials run, so that nobody waits for it."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING

from emulator.experiment.run.directory import RunDirectory
from emulator.trials.sweep import Update

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEARLY_OVER = 0.7
"""The share of a trial after which its telemetry tells which Spark is needed."""


class EarlySpark:
    """A Spark that is started early: told of the trials of a sweep, it starts once they are nearly over.

    It also waits until the trials leave it a core. Trials in real time are never disturbed: after them Spark
    starts when it is asked for. At the end of the `with` statement the session is stopped; on an error or
    interrupt its JVM is ended at once.
    """

    def __init__(self, run: RunDirectory, trials: int, cores: int, *, virtual: bool) -> None:
        self._run = run
        self._to_come = trials
        self._cores = cores
        self._virtual = virtual
        self._shares: dict[str, float] = {}
        self._lock = Lock()
        self._closed = False
        self._own_java = False
        self._pool = ThreadPoolExecutor(1, "early-spark")
        self._session: Future[SparkSession | None] | None = None

    def update(self, update: Update) -> None:
        """Take news of a trial."""
        if update.state == "running":
            progress = update.progress
            self._shares[update.trial] = progress.trial_time / progress.trial_end if progress else 0.0
        else:
            self._shares.pop(update.trial, None)
            self._to_come -= 1
        if self._session is None and self._virtual and self._has_room():
            self._session = self._pool.submit(self._start)

    def session(self) -> SparkSession | None:
        """Return the session when it is there; None if it has not been begun or did not start."""
        try:
            return self._session.result() if self._session else None
        except Exception:
            # The caller then starts Spark itself, which says what is wrong.
            return None

    def __enter__(self) -> EarlySpark:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            if error is not None and self._own_java:
                from analysis.engine.spark_session import close_java

                close_java(limit=0.0)
        if error is None and (session := self.session()) is not None:
            session.stop()
        self._pool.shutdown(cancel_futures=True)

    def _has_room(self) -> bool:
        return self._to_come < self._cores and all(share >= _NEARLY_OVER for share in self._shares.values())

    def _start(self) -> SparkSession | None:
        from analysis.engine.spark_session import spark_session, start_java
        from analysis.pipeline import has_much_telemetry

        much = has_much_telemetry(self._run)
        with self._lock:
            if self._closed:
                return None
            self._own_java = start_java(optimize=much)
        return spark_session(optimize=much)
