"""Tables that are written while others wait for them."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.tables import parquet
from analysis.tables.parquet import TablesInMaking
from emulator.experiment.run.directory import RunDirectory


@pytest.fixture
def making(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TablesInMaking:
    """Its tables are texts, and written at once."""
    monkeypatch.setattr(parquet, "write_table", lambda table, run, name, *keys: f"{name}({table})")
    there: Any = {"trials": "two trials"}
    return TablesInMaking(RunDirectory(tmp_path), there)


def test_a_table_waits_for_those_that_it_needs(making: TablesInMaking) -> None:
    told = Event()
    with making:
        making.write("hops", lambda: making["trials"] if told.wait(5) else pytest.fail("not told"), "span")
        making.write("handled", lambda: making["hops"], "event")
        told.set()
    made: dict[str, Any] = dict(making)
    assert made == {
        "trials": "two trials",
        "hops": "hops(two trials)",
        "handled": "handled(hops(two trials))",
    }


def test_an_error_is_raised_at_the_end_and_to_who_asks(making: TablesInMaking) -> None:
    asked = []

    def fail() -> Any:
        raise ValueError("no space")

    def ask() -> Any:
        with pytest.raises(ValueError, match="no space") as error:
            making["hops"]
        asked.append(error)

    with pytest.raises(ValueError, match="no space"), making:
        making.write("hops", fail, "span")
        making.write("handled", ask, "event")
    assert len(asked) == 1


def test_an_interrupt_ends_what_spark_does_for_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, cancelled = Event(), Event()
    monkeypatch.setattr(parquet, "write_table", lambda table, run, name, *keys: table)
    context = SimpleNamespace(cancelAllJobs=cancelled.set)
    there: Any = {"trials": SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))}

    def wait_for_spark() -> Any:
        begun.set()
        assert cancelled.wait(20), "it was not cancelled"

    with pytest.raises(KeyboardInterrupt), TablesInMaking(RunDirectory(tmp_path), there) as making:
        making.write("hops", wait_for_spark, "span")
        assert begun.wait(5)
        raise KeyboardInterrupt
    assert cancelled.is_set()
