"""What the analysis tells of how far it is."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from analysis.engine import stages as stages_module
from analysis.engine.stages import (
    MEASURING,
    READING,
    SERIES,
    STARTING,
    SUMMARY,
    TABLES,
    Stages,
    Standing,
    in_words,
)
from trellis.command import terminal
from trellis.command.terminal import Screen

ALL = (STARTING, READING, TABLES, SERIES, MEASURING, SUMMARY)


def told(size: int, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> list[Standing]:
    """Return what is told if every stage takes a second."""
    monkeypatch.setattr(stages_module.time, "monotonic", lambda: clock[0])
    found: list[Standing] = []
    stages = Stages(found.append, size, STARTING)
    for stage in ALL:
        stages.begin(stage)
        clock[0] += 1.0
    return found


def test_share_grows_from_nothing_to_nearly_all(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = [standing.share for standing in told(1 << 20, [0.0], monkeypatch)]
    assert shares == sorted(set(shares))
    assert shares[0] == 0.0
    assert 0.9 < shares[-1] < 1.0


def test_time_left_is_judged_by_the_pace_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_, last = told(1 << 20, [0.0], monkeypatch)
    assert first.left_s is None
    assert last.left_s == pytest.approx(5.0 * (1 - last.share) / last.share)


def test_much_telemetry_makes_reading_a_larger_part(monkeypatch: pytest.MonkeyPatch) -> None:
    little, much = (told(size, [0.0], monkeypatch) for size in (1 << 20, 1 << 30))
    assert much[2].share - much[1].share > 1.5 * (little[2].share - little[1].share)


def test_a_stage_that_is_left_out_counts_for_nothing() -> None:
    found: list[Standing] = []
    Stages(found.append, 0, READING).begin(READING, 0.5)
    assert 0 < found[0].share < 0.5


def test_stages_are_noted_once_in_words() -> None:
    lines: list[str] = []
    tell = in_words(lines.append)
    for share in (0.2, 0.3):
        tell(Standing(READING, share, None))
    assert lines == ["reading the telemetry (20 % done)"]


def test_plain_lines_tell_stage_share_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    output = io.StringIO()
    with Screen(Console(file=output)).step("analyzing", 0) as step:
        for share, left_s in ((0.25, None), (0.5, 61.0)):
            step.stage(READING, share, left_s)
            step.stage(READING, share, left_s)
            now[0] += terminal.LINE_INTERVAL
    assert output.getvalue().splitlines() == [
        "analyzing",
        "  reading the telemetry (25 % done)",
        "  reading the telemetry (50 % done, about 1 min 1 s left)",
    ]


def test_plain_lines_do_not_say_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    output = io.StringIO()
    with Screen(Console(file=output)).step("analyzing", 0) as step:
        for share in (0.0, 0.001, 0.004, 0.1):
            step.stage(READING, share, None)
            now[0] += terminal.LINE_INTERVAL
    assert output.getvalue().splitlines() == [
        "analyzing",
        "  reading the telemetry (0 % done)",
        "  reading the telemetry (10 % done)",
    ]


def test_a_terminal_shows_a_bar_with_the_share() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with Screen(console).step("analyzing", 0) as step:
        step.stage(MEASURING, 0.75, 3.0)
        task = step._progress.tasks[0]  # type: ignore[attr-defined]
        assert (task.completed, task.total) == (0.75, 1.0)
        assert "measuring (75 % done, about 3 s left)" in task.fields["said"]
