"""Tables that are written while others wait for them."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.contract.trouble import NoTable
from analysis.tables.in_making import TablesInMaking, TablesOnDemand
from analysis.tables.table_files import TableFiles


class Files(TableFiles):
    """Tables that are texts, and written at once."""

    def __init__(self) -> None: ...

    def write(self, frame: Any, table: str, *keys: str) -> Any:
        return f"{table}({frame})"


@pytest.fixture
def making() -> TablesInMaking:
    there: Any = {"trials": "two trials"}
    return TablesInMaking(Files(), there)


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


def test_an_interrupt_ends_what_spark_does_for_tables() -> None:
    begun, cancelled = Event(), Event()
    context = SimpleNamespace(cancelAllJobs=cancelled.set)
    there: Any = {"trials": SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))}

    def wait_for_spark() -> Any:
        begun.set()
        assert cancelled.wait(20), "it was not cancelled"

    with pytest.raises(KeyboardInterrupt), TablesInMaking(Files(), there) as making:
        making.write("hops", wait_for_spark, "span")
        assert begun.wait(5)
        raise KeyboardInterrupt
    assert cancelled.is_set()


def test_a_table_on_demand_is_made_once_with_what_it_needs_and_no_other() -> None:
    there: Any = {"trials": "two trials"}
    making = TablesOnDemand(Files(), there)
    asked = []

    def hops() -> Any:
        asked.append("hops")
        return making["trials"]

    making.write("hops", hops, "span")
    making.write("handled", lambda: making["hops"], "event")
    making.write("links", lambda: pytest.fail("nobody asked for it"), "peer")
    assert asked == []
    assert making["handled"] == making.before()["handled"] == "handled(hops(two trials))"
    assert making["hops"] == "hops(two trials)" and asked == ["hops"]


def test_a_table_on_demand_that_fails_fails_for_all_who_ask_and_one_of_itself_is_refused() -> None:
    there: Any = {"trials": "two trials"}
    making = TablesOnDemand(Files(), there)
    earlier = making.before()
    making.write("hops", lambda: making["hops"], "span")
    making.write("handled", lambda: making["hops"], "event")
    for name in ("handled", "hops", "handled"):
        with pytest.raises(NoTable, match="made of itself"):
            making[name]
    with pytest.raises(NoTable, match='no table "hops"'):
        earlier["hops"]


def test_tables_serve_all_measures_unless_some_alone_are_asked_for() -> None:
    there: Any = {"trials": "two trials"}
    whole = TablesOnDemand(Files(), there)
    some = TablesOnDemand(Files(), there, [object()], asked={"hit_ratio"})  # type: ignore[list-item]
    assert whole.serve("delay_penalty") and whole.of([object()]).serve("delay_penalty")  # type: ignore[list-item]
    for tables in (some, some.of([])):
        assert tables.serve("delay_penalty", "hit_ratio") and not tables.serve("delay_penalty")
