"""What tests of several rooms share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from release_world import World
from typer.testing import CliRunner, Result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A busy machine is no fault of what is tested; CI tries the same examples each time, so that what lands
# does not hang on luck.
settings.register_profile("trellis", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("trellis")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep the tests that use Spark in one process, where several run: each would start a JVM of its own.

    In `pytest_collection_modifyitems` it would be too late: xdist has read the groups by then.
    """
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for the whole test process: its start takes seconds."""
    from analysis.session import spark_session

    with spark_session(2) as session:
        yield session


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
    from emulator.cli import app
    from emulator.release import waiting

    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(waiting, "_PERIOD", 0.01)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
