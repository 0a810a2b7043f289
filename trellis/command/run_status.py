"""These functions show a run directory for `status` and `open`, and tell of the trials of releases, too."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from emulator.experiment.run.directory import RunDirectory
from emulator.files.input_facts import counted
from trellis.command.as_json import say_json
from trellis.command.exits import UserError, err
from trellis.command.outcome import out
from trellis.command.watching import View, show, watch

if TYPE_CHECKING:
    from emulator.trials.run_progress import Standing
    from trellis.command.local_runs import LocalRun

_SCREENS = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}
"""The variables that name a screen, or a browser that needs none."""
_MAX_TRIALS = 20
"""The most trials that are told of."""


def run_directory(name: str, namespace: str | None) -> Path | None:
    """Return the run directory that a name means, None if it means a release.

    A name means a run directory if it has a slash, if it is a file, which is told then, or if it is a folder
    with an experiment.yaml. With a namespace it always means a release.
    """
    path = Path(name)
    if namespace is None and ("/" in name or path.is_file() or RunDirectory(path).experiment.is_file()):
        return path
    return None


def no_run(name: str) -> str:
    """Return why a name, which has to mean a release then, is no run directory."""
    if Path(name).is_dir():
        return f"{name} is not a run directory: it has no experiment.yaml"
    return f"there is no run directory {name} here (see: trellis runs)"


def trial_lines(standing: Standing) -> Iterator[str]:
    """Yield how many trials are in which state, and a line for each of the last that have begun."""
    if not standing.trials:
        yield standing.problem or "no trial has begun yet"
        return
    counts = ", ".join(f"{count} {state}" for state, count in standing.counts.items())
    yield f"experiment {standing.experiment}: {counted(len(standing.trials), 'trial')}, {counts}"
    telling = [trial for trial in standing.trials if trial.state != "planned"]
    for trial in telling[-_MAX_TRIALS:]:
        running = trial.state == "running" and trial.progress is not None
        text = trial.progress.told() if running and trial.progress else "; ".join(trial.reasons)
        label = f" ({trial.label})" if trial.label else ""
        yield f"  {trial.trial}{label}: {trial.state}{': ' if text else ''}{text}"
        if running and trial.progress and trial.progress.held_up:
            yield f"    ! {trial.progress.held_up}"


def show_run(path: Path, as_json: bool, watched: bool) -> None:
    """Print what a run is doing, and the command to go on with; if it is watched, until nothing runs.

    Raises NoRun if the folder is no run.
    """
    from emulator.experiment.run.runs import open_run
    from trellis.command.local_runs import look

    directory = open_run(path)[0]
    if as_json:
        say_json(look(directory, named=True).whole())
    elif watched:
        watch(lambda: _view(path, look(directory, named=True)))
    else:
        show(_view(path, look(directory, named=True)))


def _view(path: Path, found: LocalRun) -> View:
    verdict = f", {found.verdict}" if found.verdict else ""
    lines = [f"run {path}: {found.state}{verdict}", *trial_lines(found.standing)]
    name = shlex.quote(str(path))
    further = {
        "planned": f"run it: trellis run {name}",
        "interrupted": f"nothing runs; go on with: trellis run {name}",
        "ended": f"analyze it: trellis analyze {name}",
        "analyzed": f"write its report: trellis report {name}",
        "reported": f"report: {found.directory.report}",
    }
    if found.verdict == "damaged":
        lines.append(_damaged(name))
    elif found.state == "analyzed" and not found.directory.tables.is_dir():  # a campaign is only judged
        lines.append(f"all measures and a report: trellis analyze {name}; trellis report {name}")
    elif text := further.get(found.state):
        lines.append(text)
    return View(lines, ended=found.state not in ("running", "analyzing"))


def _damaged(name: str) -> str:
    return f"its summary.json is damaged; make it again: trellis analyze {name}; trellis report {name}"


def open_report(path: Path, browser: bool) -> None:
    """Print where the report of a run is, and show it in a browser.

    While the run goes on, a page shows how far it is, until Ctrl-C. Raises UserError if nothing runs and
    there is no report, and NoRun.
    """
    from emulator.experiment.run.runs import open_run
    from emulator.trials.sweep import is_busy
    from trellis.command.local_runs import look

    directory = open_run(path)[0]
    report = directory.report
    if is_busy(directory):
        _serve_page(directory, browser)
        return
    if not report.is_file():
        name = shlex.quote(str(path))
        raise UserError(f"{path} has no report yet. See what it lacks: trellis status {name}")
    if look(directory).verdict == "damaged":
        text = f"{path} has the report of an earlier analysis: {_damaged(shlex.quote(str(path)))}"
        err.print(text, style="yellow", markup=False, soft_wrap=True)
    out.print(str(report), markup=False, soft_wrap=True)
    if browser:
        _show(report.resolve().as_uri())


def _serve_page(directory: RunDirectory, browser: bool) -> None:
    from trellis.command.live_page import LivePage

    with LivePage(directory) as page, contextlib.suppress(KeyboardInterrupt):
        told = f"{directory.path} is at {page.address} until Ctrl-C, and its report when it is there"
        out.print(told, markup=False, soft_wrap=True)
        if browser:
            _show(page.address)
        page.serve_forever()


def _show(address: str) -> None:
    """Show a page in a browser. Without a screen xdg-open would only print which browsers it misses."""
    has_screen = sys.platform != "linux" or os.environ.keys() & _SCREENS
    if not has_screen or typer.launch(address) != 0:
        err.print("no browser could be opened. Open what is named above", markup=False)
