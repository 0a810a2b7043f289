"""Runs all trials of an experiment as tasks of Spark, into a run directory like that of local trials."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from queue import Empty, SimpleQueue

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from analysis.engine.cluster_session import executors_of
from analysis.engine.executors import ClusterError
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import Trial
from emulator.experiment.run.archive import unpack
from emulator.experiment.run.directory import RunDirectory, TrialDirectory
from emulator.experiment.run.versions import now
from emulator.network.loopback import loopback
from emulator.runtime.progress import Progress
from emulator.trials.sweep import Update, about, conduct, interrupted, outcome_of, prepare
from emulator.trials.trial import STATUS_INTERVAL, describe
from trellis.on_spark.news import Listener
from trellis.on_spark.task import Task, perform

_TURN = 0.1
_GRACE = 15.0
"""The seconds that Spark has to end its jobs after an interrupt."""
_NONE_LIMIT = 600.0
"""The seconds without any executor after which a sweep is given up."""
_LONGEST_REASON = 500
_MOST_BYTES = 256 << 20
"""The most bytes of a trial's files, of which Spark keeps several copies at the executor and here."""

Answer = tuple[Trial, list[bytes] | Exception]


def run_on_executors(
    run: RunDirectory,
    spec: ExperimentSpec,
    spark: SparkSession,
    watch: Callable[[Update], None],
    command: str = "",
    jobs: int | None = None,
) -> list[Update]:
    """Run the trials that are not finished, one to a core of the executors; return the last news of each.

    At most `jobs` trials run at once. A trial that fails, or that Spark gives up after several executors were
    lost with it, is `failed`, and the others go on. On an interrupt all trials are ended, and the run can be
    resumed. Raises RunBusy, ClusterError if no executor is left, and OSError if the run directory cannot be
    written.
    """
    return conduct(
        run, spec, watch, lambda pending: _Sweep(run, spark, watch, command, jobs).run_trials(pending)
    )


class _Sweep:
    """The trials that Spark has. Each is a job of one task, so that its files come when it ends."""

    def __init__(
        self,
        run: RunDirectory,
        spark: SparkSession,
        watch: Callable[[Update], None],
        command: str,
        jobs: int | None,
    ) -> None:
        self._run = run
        self._spark = spark
        self._context = spark.sparkContext
        self._watch = watch
        self._command = command
        self._jobs = jobs
        self._local = str(self._context.master).startswith("local")
        self._most_bytes = _most_bytes(spark)
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self._asked: dict[str, InheritableThread] = {}
        self._kept: dict[str, float] = {}
        self._executors_at = time.monotonic()

    def run_trials(self, pending: deque[Trial]) -> Iterator[Update]:
        host = self._context.getConf().get("spark.driver.host") or loopback()
        with Listener(host.strip("[]")) as listener:
            try:
                while pending or self._asked:
                    while pending and len(self._asked) < self._room():
                        self._ask(pending.popleft(), listener)
                    for name, progress in listener.hear(_TURN).items():
                        self._tell(name, progress)
                    with contextlib.suppress(Empty):
                        while True:
                            yield self._finish(*self._answers.get_nowait())
                    self._look_for_executors()
            finally:
                self._end()

    def _room(self) -> int:
        """Return how many trials may run at once, which changes as executors come and go."""
        cores = self._context.defaultParallelism
        return min(cores, self._jobs) if self._jobs else cores

    def _ask(self, trial: Trial, listener: Listener) -> None:
        directory = self._run.trial(trial.name)
        prepare(directory, about(trial, self._command))
        directory.write_status(state="running", started=now(), ended=None, progress=None)
        place = listener.host, listener.port
        run = self._run.path.resolve().name
        text = Task.of(trial, run, self._command, self._most_bytes, place, listener.token).to_json()
        # A job blocks the thread that asks for it.
        thread = InheritableThread(target=self._await, args=(trial, text), name=trial.name, daemon=True)
        self._asked[trial.name] = thread
        thread.start()
        self._watch(Update(trial.name, "running"))

    def _await(self, trial: Trial, text: str) -> None:
        try:
            self._context.setJobDescription(trial.name)
            chunks = self._context.parallelize([text], 1).mapPartitions(perform).collect()
            self._answers.put((trial, chunks))
        except Exception as error:
            self._answers.put((trial, error))

    def _tell(self, name: str, progress: Progress) -> None:
        if name not in self._asked:
            return
        self._watch(Update(name, "running", progress))
        if time.monotonic() - self._kept.get(name, 0.0) >= STATUS_INTERVAL:
            self._kept[name] = time.monotonic()
            self._run.trial(name).write_status(progress=asdict(progress))

    def _finish(self, trial: Trial, answer: list[bytes] | Exception) -> Update:
        del self._asked[trial.name]
        directory = self._run.trial(trial.name)
        try:
            if isinstance(answer, Exception):
                raise answer
            _receive(directory, answer)
            return outcome_of(directory)
        except Exception as error:
            reason = _why(error)
        directory.write_status(state="failed", ended=now(), reasons=[reason])
        return Update(trial.name, "failed", reasons=(reason,))

    def _look_for_executors(self) -> None:
        """Raises ClusterError after too long without an executor: Spark would wait for ever."""
        if self._local or executors_of(self._spark):
            self._executors_at = time.monotonic()
        elif time.monotonic() - self._executors_at > _NONE_LIMIT:
            raise ClusterError(
                f"all executors have been gone for {_NONE_LIMIT:g} s. Finished trials are kept; "
                f"go on when there are some: trellis run {self._run.path} --on {self._context.master}"
            )

    def _tasks(self) -> int:
        """Return the running tasks. A cancelled task still runs for two seconds, and uses its folder."""
        tracker = self._context._jsc.sc().statusTracker()
        return sum(int(executor.numRunningTasks()) for executor in tracker.getExecutorInfos())

    def _end(self) -> None:
        """End all jobs at Spark; trials that did not end are to run again."""
        if not self._asked:
            return
        with contextlib.suppress(Exception):
            self._context.cancelAllJobs()
        deadline = time.monotonic() + _GRACE
        for thread in self._asked.values():
            thread.join(max(0.0, deadline - time.monotonic()))
        with contextlib.suppress(Exception):
            while self._tasks() and time.monotonic() < deadline:
                time.sleep(_TURN)
        for name in self._asked:
            interrupted(self._run.trial(name))


def _most_bytes(spark: SparkSession) -> int:
    """Return the most bytes that a trial may send back: a quarter of the Java memory of an executor."""
    context = spark.sparkContext
    heap = context.getConf().get("spark.executor.memory") or "1g"
    in_bytes = int(context._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(heap))  # type: ignore[union-attr]
    return min(_MOST_BYTES, in_bytes // 4)


class _Chunks:
    """Pieces of an archive, which are read as one file."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._left = deque(chunks)

    def read(self, size: int, /) -> bytes:
        if not self._left:
            return b""
        chunk = self._left.popleft()
        if len(chunk) > size:
            self._left.appendleft(chunk[size:])
        return chunk[:size]


def _receive(directory: TrialDirectory, chunks: Sequence[bytes]) -> None:
    """Put the files of a trial into its directory, its status last. Raises ArchiveError and OSError."""
    draft = directory.path / "arrived.new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    unpack(_Chunks(chunks), draft)
    status = json.loads((draft / directory.status.name).read_text())
    (draft / directory.status.name).unlink()
    for old in (directory.plan, directory.telemetry):
        shutil.rmtree(old, ignore_errors=True)
    for arrived in draft.iterdir():
        arrived.replace(directory.path / arrived.name)
    draft.rmdir()
    directory.write_status(**status)


def _why(error: Exception) -> str:
    """Return what Spark, or the archive, says of a trial that did not come back."""
    of_java = getattr(error, "java_exception", None)
    if of_java is None:
        return describe(error)
    text = str(of_java.getMessage())
    if "No module named 'emulator" in text:
        return (
            "the Python of the executors has no Trellis. Install the same version there, "
            "and name that Python with PYSPARK_PYTHON"
        )
    return f"Spark could not run it: {' '.join(text.split())[:_LONGEST_REASON]}"
