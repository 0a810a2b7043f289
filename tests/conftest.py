"""What tests of several rooms share."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from release_world import World
from typer.testing import CliRunner, Result
from xdist.scheduler import LoadScopeScheduling

from emulator.runtime.breaches import CHECKED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from emulator.experiment.run.directory import RunDirectory

# A busy machine is no fault of what is tested; CI tries the same examples each time, so that what lands
# does not hang on luck.
settings.register_profile("trellis", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("trellis")

# Each trial on the virtual clock is checked, so that a protocol that breaks its contract is found out here.
os.environ.setdefault(CHECKED, "1")

# A shell has what it starts in the background ignore interrupts, and so what tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


class SparkTogether(LoadScopeScheduling):  # type: ignore[misc]
    """Sends files that use Spark to one process, where each would start a JVM of its own, and the tests of a
    file that share what they make to one, where each would make it.

    The groups of `--dist loadgroup` get lost: xdist 3.8 names them in what pytest 9.2 no longer reads.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        text = _text(self.config.rootpath / file)
        if "spark: SparkSession" in text or "golden: tuple[RunDirectory" in text:
            return "spark"
        return file if 'scope="module"' in text or "@cache" in text else nodeid


@cache
def _text(file: Path) -> str:
    return file.read_text()


def pytest_sessionstart() -> None:
    """Import the tests from another file on in each of several processes.

    Who is first with a file rewrites its assertions for all, which takes most of the time of a collection.
    """
    worker, workers = (os.environ.get(f"PYTEST_XDIST_WORKER{more}", "") for more in ("", "_COUNT"))
    if not worker or sys.dont_write_bytecode:
        return
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    first = len(files) * int(worker.removeprefix("gw")) // int(workers)
    for file in files[first:] + files[:first]:
        with suppress(Exception, pytest.skip.Exception):  # pytest tells of it when it collects the file
            importlib.import_module(file.stem)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep the collector from what thousands of collected tests are made of, which it would look through in
    each of them."""
    gc.collect()
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SparkTogether:
    """Distribute tests, where several processes run them."""
    return SparkTogether(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for the whole test process: its start takes seconds."""
    from analysis.engine.spark_session import spark_session

    with spark_session(2) as session:
        yield session


@pytest.fixture(scope="session")
def golden(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[RunDirectory, dict[str, Any]]:
    """The run of `analysis_golden`, analysed, and its summary; nobody may change it."""
    from analysis_golden import golden_run

    from analysis.pipeline import analyze

    run = golden_run(tmp_path_factory.mktemp("golden") / "run")
    return run, analyze(run, lambda _: None, spark)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A cluster that is none, with a helm of its own."""
    (tmp_path / "world").mkdir()
    world = World(tmp_path / "world")
    yield world
    world.close()


@pytest.fixture
def trellis(tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Calls the command in an empty folder, with that cluster."""
    from trellis.command import watching
    from trellis.command.cli import app
    from trellis.command.release import waiting

    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(waiting, "_PERIOD", 0.01)
    monkeypatch.setattr(waiting, "_REST", 0.0)
    monkeypatch.setattr(watching, "_PERIOD", 0.01)
    monkeypatch.setattr(watching, "_REST", 0.0)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
