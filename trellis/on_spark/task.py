"""One trial as a task of Spark, as an executor runs it.

A task is sent as a line of JSON, and the files of the trial come back as bytes.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyspark import TaskContext

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.document import dotted
from emulator.experiment.file.input_paths import named_files
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.variants import Trial, Variant
from emulator.experiment.run.archive import pack
from emulator.experiment.run.directory import RunDirectory, TrialDirectory
from emulator.experiment.run.versions import machine, now, versions
from emulator.trials.sweep import Update, run_here
from emulator.trials.trial import describe
from trellis.on_spark.news import Teller

_CHUNK = 4 << 20


@dataclass(frozen=True, slots=True)
class Task:
    """One trial, as an executor has to know it."""

    run: str
    """The name of the run directory."""
    trial: str
    variant: str
    values: dict[str, Any]
    spec: dict[str, Any]
    command: str
    trellis: str
    """The version of Trellis that the sweep was started with."""
    most_bytes: int
    """The most bytes of the trial's files that Spark can carry back."""
    listener: tuple[str, int]
    token: str

    @classmethod
    def of(
        cls, trial: Trial, run: str, command: str, most_bytes: int, listener: tuple[str, int], token: str
    ) -> Task:
        return cls(
            run=run,
            trial=trial.name,
            variant=trial.variant.name,
            values=trial.variant.values,
            spec=trial.spec.model_dump(mode="json"),
            command=command,
            trellis=version("trellis"),
            most_bytes=most_bytes,
            listener=listener,
            token=token,
        )

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Task:
        return cls(**json.loads(text))


def perform(texts: Iterable[str]) -> Iterator[bytes]:
    """Run the trials of a partition; yield the archive of each trial's directory, in pieces.

    If this process cannot remove the folder, Spark removes it with the executor.
    """
    above = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
    for text in texts:
        task = Task.from_json(text)
        with tempfile.TemporaryDirectory(prefix="trellis-trial-", dir=above) as folder:
            run = RunDirectory(Path(folder) / task.run)
            directory = run.trial(task.trial)
            _run(task, run, directory)
            yield from _packed(directory, Path(folder) / "archive", task.most_bytes)


def _run(task: Task, run: RunDirectory, directory: TrialDirectory) -> None:
    context = TaskContext.get()
    place = {"executor": socket.gethostname(), "attempt": context.attemptNumber() + 1 if context else 1}
    try:
        if reason := _unfit(task):
            raise RuntimeError(reason)
        spec = TrialSpec.model_validate_json(json.dumps(task.spec))
    except Exception as error:
        directory.path.mkdir(parents=True)
        reason = str(error) if isinstance(error, RuntimeError) else describe(error)
        facts = {"versions": versions(), "machine": machine()} | place
        directory.write_status(state="failed", started=now(), ended=now(), reasons=[reason], **facts)
        return
    trial = Trial(task.trial, Variant(task.variant, task.values, spec), spec)
    with Teller(*task.listener, task.token, task.trial) as teller:

        def watch(update: Update) -> None:
            if update.progress is not None:
                teller.tell(update.progress)

        for _ in run_here(run, deque([trial]), 1, watch, task.command):
            directory.write_status(**place)


def _unfit(task: Task) -> str:
    """Return why this machine cannot run the trial, or ""."""
    here, found = socket.gethostname(), version("trellis")
    if found != task.trellis:
        return f"{here} has Trellis {found}, and the sweep was started with {task.trellis}. Install the same"
    system = task.spec["system"]["name"]
    if system not in SYSTEMS:
        return f"no package on {here} has the system {system}. Install it wherever executors run"
    for *above, last in named_files(task.spec):
        values: Any = task.spec
        for part in above:
            values = values[part]
        if not Path(values[last]).is_file():
            key = dotted((*above, last))
            return f"{here} has no file {values[last]} ({key}). Put it at this path wherever executors run"
    return ""


def _packed(directory: TrialDirectory, archive: Path, most_bytes: int) -> Iterator[bytes]:
    with archive.open("wb") as file:
        pack(directory.path, file)
    if (size := archive.stat().st_size) > most_bytes:
        for part in (directory.plan, directory.telemetry):
            shutil.rmtree(part, ignore_errors=True)
        directory.fidelity.unlink(missing_ok=True)
        directory.write_status(
            state="failed",
            reasons=[
                f"its files have {size >> 20} MiB, and Spark carries {most_bytes >> 20} MiB for a trial "
                "from executors of this memory. Give them more, or run it without --on"
            ],
        )
        with archive.open("wb") as file:
            pack(directory.path, file)
    with archive.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
