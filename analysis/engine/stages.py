"""The progress of an analysis: its stage, the share that is done, and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING

from emulator.tracing.spans import record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STARTING = "starting Spark"
READING = "reading the telemetry"
TABLES = "making the tables"
SERIES = "counting over time and topics"
MEASURING = "measuring"
SUMMARY = "writing the summary"
_SECONDS = {
    STARTING: (3.0, 0.0),
    READING: (4.0, 0.09),
    TABLES: (6.0, 0.06),
    SERIES: (3.0, 0.02),
    MEASURING: (2.0, 0.01),
    SUMMARY: (0.2, 0.0),
}
"""The seconds that each stage takes on two cores: a constant, and an addition for each MB of traces."""
_LEAST_SHARE = 0.1
"""The least share after which the time left is told."""
_TURN = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of an analysis at one moment."""

    stage: str
    share: float
    """The share of the whole analysis that is done, 0 to 1, by the usual times of stages."""
    left_s: float | None


Tell = Callable[[Standing], None]


def in_words(note: Callable[[str], None]) -> Tell:
    """Return a function that notes each stage once, as it begins."""
    noted: set[str] = set()

    def tell(standing: Standing) -> None:
        if standing.stage not in noted:
            noted.add(standing.stage)
            note(f"{standing.stage} ({100 * standing.share:.0f} % done)")

    return tell


class Stages:
    """The stages, each of which is told of as it begins. They come in order; some may be left out.

    With the `with` statement the last one ends, too.
    """

    def __init__(self, tell: Tell, trace_bytes: int, first: str) -> None:
        """Begin with the stage `first`; `trace_bytes` is the size of the traces to analyse."""
        self._tell = tell
        self._began = time.monotonic()
        self._under_way, self._since_ns = "", 0
        names = list(_SECONDS)
        self._weights = {
            name: _SECONDS[name][0] + _SECONDS[name][1] * trace_bytes / 1e6
            for name in names[names.index(first) :]
        }

    def begin(self, stage: str, part: float = 0.0) -> None:
        """Tell that all before this stage is done, and this part (0 to 1) of it."""
        if stage != self._under_way:
            self.end()
            self._under_way, self._since_ns = stage, time.time_ns()
        names = list(self._weights)
        done = sum(self._weights[name] for name in names[: names.index(stage)]) + part * self._weights[stage]
        share = done / sum(self._weights.values())
        elapsed = time.monotonic() - self._began
        left = elapsed * (1 - share) / share if share >= _LEAST_SHARE else None
        self._tell(Standing(stage, share, left))

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """End the stage that is under way, which is a span of its own for operators."""
        if self._under_way:
            record(self._under_way, self._since_ns, time.time_ns())
        self._under_way = ""

    @contextmanager
    def watching(self, stage: str, spark: SparkSession) -> Iterator[None]:
        """Begin a stage that is one job or a few at once, and tell each second how far it is."""
        self.begin(stage)
        tracker = spark.sparkContext.statusTracker()
        over = Event()

        def watch() -> None:
            ended: dict[int, int] = {}
            tasks: dict[int, int] = {}
            while not over.wait(_TURN):
                for number in tracker.getActiveStageIds():
                    if (info := tracker.getStageInfo(number)) is not None:
                        ended[number] = info.numCompletedTasks
                        tasks[number] = info.numTasks
                self.begin(stage, sum(ended.values()) / max(sum(tasks.values()), 1))

        watcher = Thread(target=watch, name="progress")
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
