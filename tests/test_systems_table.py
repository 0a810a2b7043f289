"""The table of a system in `trellis systems`."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from pydantic import BaseModel, Field, create_model
from rich.console import Console

from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from emulator.protocols.overlays.pastry.parameters import PastryParameters
from emulator.protocols.pubsub.scribe.parameters import parameters_over
from trellis.command.systems_table import table_of

SCRIBE = SYSTEMS["scribe-pastry"]


def shown(system: System) -> list[list[str]]:
    """The table's rows, cell by cell."""
    page = StringIO()
    Console(file=page, width=400).print(table_of(system))
    return [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in page.getvalue().splitlines()
        if line.startswith("│")
    ]


@pytest.mark.parametrize(
    ("system", "overlay"),
    [("scribe-pastry", "pastry"), ("scribe-small-world", "small-world"), ("li", "pastry")],
)
def test_the_parameters_of_an_overlay_below_are_those_of_its_own_table(system, overlay):
    first = next(iter(SYSTEMS[overlay].parameters.model_fields))
    assert shown(SYSTEMS[system])[0] == [
        "overlay",
        f"parameters of {overlay}",
        "as there",
        f"parameters of the overlay, such as overlay.{first}",
    ]


def test_an_overlay_without_a_table_of_its_own_is_shown_below_by_name():
    class Chord(BaseModel):
        successors: int = Field(8, description="next peers on the ring")

    rows = shown(replace(SCRIBE, parameters=parameters_over(Chord)))
    assert rows[0] == ["overlay.successors", "whole number", "8", "next peers on the ring"]
    assert rows[1][0] == "heartbeat"


def test_an_overlay_with_other_defaults_is_shown_below_with_these():
    other = create_model("Other", overlay=(PastryParameters, PastryParameters(leaf_set=8)))
    rows = shown(replace(SCRIBE, parameters=other))
    assert [row[2] for row in rows if row[0] == "overlay.leaf_set"] == ["8"]
    assert [row[2] for row in rows if row[0] == "overlay.heartbeat"] == ['"30 s"']


def test_types_and_brackets_are_shown_as_an_experiment_file_has_them():
    rows = {row[0]: row[1:] for row in shown(SYSTEMS["li"])}
    assert rows["capacity"][:2] == ["[whole number, whole number]", "[10, 30]"]
    assert rows["attributes"][0] == "{text: [number, number]}"
    assert rows["attributes"][2] == "the schema, known to all: name to domain [low, high]"


OWN = [
    name for name, system in SYSTEMS.items() if system.parameters.__module__.startswith("emulator.protocols.")
]


@pytest.mark.parametrize("system", OWN)
def test_nothing_of_python_is_shown(system):
    for row in shown(SYSTEMS[system]):
        assert not any(
            word in cell for cell in row for word in ("class", "emulator.", "tuple", "dict", "None")
        )
        assert all(row)
