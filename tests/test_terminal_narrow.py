"""The lines that a run shows in a narrow terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from emulator.runtime.progress import Progress
from emulator.trials.sweep import Update
from trellis.command.terminal import LiveStep, Screen

LONG = "system.name=vitis,churn.model.mean_session=30 s,network.loss=0.05"


def shown(columns: int, name: str) -> list[str]:
    """Return the lines of a step with one running trial, in a terminal of so many columns."""
    console = Console(file=StringIO(), width=columns, force_terminal=True, color_system=None)
    step = LiveStep(Screen(console), "trials", 4)
    with step:
        step.update(Update(name, "running", Progress("measure", 50.0, 100.0, 200, 3000, 2990, 1_234_567)))
        table = step._progress.make_tasks_table(step._progress.tasks)
    plain = Console(file=StringIO(), width=columns)
    with plain.capture() as captured:
        plain.print(table)
    return captured.get().splitlines()


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("name", ["vitis-1", f"{LONG}-1"])
def test_the_bar_of_each_trial_stays_and_each_has_one_line(columns: int, name: str) -> None:
    lines = shown(columns, name)
    assert len(lines) == 2 and all(len(line) <= columns for line in lines)
    assert lines[1].count("\u2501") + lines[1].count("\u2578") >= 6, lines


def test_a_long_name_keeps_its_begin_and_its_seed() -> None:
    (_, line) = shown(60, f"{LONG}-17")
    assert "system" in line and "0.05-17" in line
