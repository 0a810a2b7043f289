"""The command's display while it works: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from emulator.files.input_facts import counted
from emulator.runtime.progress import Progress as Snapshot
from emulator.trials.sweep import Update

LINE_INTERVAL = 10.0
"""The seconds between two lines about a trial where there is no terminal."""
_WIDE = 80
"""The columns of a terminal from which on bars are long."""
_REST = 14
"""The columns of the spinner, the time and the gaps between all parts of a line."""
_LONGEST_NAME = 48
_STYLES = {"valid": "green", "invalid": "red", "failed": "red"}


class Clock:
    """Estimates how long a trial will still take, by its pace so far."""

    def __init__(self) -> None:
        self._began: tuple[float, float] | None = None

    def left(self, snapshot: Snapshot) -> float | None:
        """Return the wall seconds that are left; None before they can be estimated."""
        now = time.monotonic()
        if self._began is None and snapshot.phase != "plan":
            self._began = now, snapshot.trial_time
        if self._began is None or snapshot.trial_time - self._began[1] <= 0:
            return None
        pace = (now - self._began[0]) / (snapshot.trial_time - self._began[1])
        return pace * max(0.0, snapshot.trial_end - snapshot.trial_time)


def told(snapshot: Snapshot, left: float | None) -> str:
    """Return a snapshot in words, with the wall seconds that are left."""
    text = snapshot.told()
    return text if left is None or snapshot.phase == "plan" else f"{text}, {_span(left)} left"


def _span(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


def _one_line(width: int) -> Column:
    return Column(no_wrap=True, overflow="ellipsis", max_width=width)


def _shortened(name: str, width: int) -> str:
    """Return a name of at most so many letters, which keeps its begin and its end: the seed of a trial."""
    end = width // 2
    return name if len(name) <= width else f"{name[: width - end - 1]}…{name[-end:]}"


class Screen:
    """Shows the steps of a run and the trials of a sweep on one console."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, text: str, style: str | None = None) -> None:
        """Print one whole line."""
        self.console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def step(self, title: str, total: int) -> Iterator[Step]:
        """Show a part of a run; `total` is how many trials it will finish (0 if it does not count trials)."""
        step: Step = (
            LiveStep(self, title, total) if self.console.is_terminal else PlainStep(self, title, total)
        )
        with step:
            yield step


class Step(ABC):
    """A part of a run, which hears of trials by `update` and of other work by `note`."""

    def __init__(self, screen: Screen, title: str, total: int) -> None:
        self._screen = screen
        self._title = title
        self._total = total
        self._ended = 0
        self._clocks: dict[str, Clock] = {}

    @abstractmethod
    def __enter__(self) -> None: ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...

    @abstractmethod
    def note(self, text: str) -> None:
        """Show what is being done now."""

    def stage(self, name: str, share: float, left_s: float | None) -> None:
        """Show what is being done now, the share (0 to 1) that is done, and the seconds left, if known."""
        left = "" if left_s is None else f", about {_span(left_s)} left"
        self._stage(name, f"{name} ({100 * share:.0f} % done{left})", share)

    def update(self, update: Update) -> None:
        """Take in news of a trial."""
        if update.state == "running":
            clock = self._clocks.setdefault(update.trial, Clock())
            left = clock.left(update.progress) if update.progress else None
            self._running(update, told(update.progress, left) if update.progress else "starting")
            return
        self._ended += 1
        why = f": {'; '.join(update.reasons)}" if update.reasons else ""
        kept = " (kept)" if update.kept else ""
        text = f"{update.trial}: {update.state}{kept}{why}  [{self._ended}/{self._total}]"
        self._finished(update)
        self._screen.say(text, _STYLES.get(update.state))

    @abstractmethod
    def _stage(self, name: str, text: str, share: float) -> None: ...

    @abstractmethod
    def _running(self, update: Update, text: str) -> None: ...

    @abstractmethod
    def _finished(self, update: Update) -> None: ...


class PlainStep(Step):
    """Prints lines, at most one each ten seconds for a trial, or for a stage, and none twice in a row."""

    def __enter__(self) -> None:
        self._said: dict[str, tuple[float, str]] = {}
        self._screen.say(self._title)

    def __exit__(self, *_: object) -> None:
        pass

    def note(self, text: str) -> None:
        self._screen.say(f"  {text}")

    def _stage(self, name: str, text: str, share: float) -> None:
        self._say_at_times(name, f"  {text}")

    def _running(self, update: Update, text: str) -> None:
        self._say_at_times(update.trial, f"{update.trial}: {text}")

    def _say_at_times(self, about: str, text: str) -> None:
        now = time.monotonic()
        last, said = self._said.get(about, (-LINE_INTERVAL, ""))
        if now - last >= LINE_INTERVAL and text != said:
            self._said[about] = now, text
            self._screen.say(text)

    def _finished(self, update: Update) -> None:
        pass


class LiveStep(Step):
    """Shows a bar for each running trial and one for all."""

    def __enter__(self) -> None:
        columns = self._screen.console.width
        bar = 24 if columns >= _WIDE else 12
        # Each column has its place, as Rich would take it from the bars first.
        self._name = min(max((columns - bar - _REST) // 2, 8), _LONGEST_NAME)
        said = max(columns - bar - _REST - self._name, 8)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", table_column=_one_line(self._name)),
            BarColumn(bar_width=bar),
            TimeElapsedColumn(),
            TextColumn("{task.fields[said]}", table_column=_one_line(said)),
            console=self._screen.console,
            transient=True,
            refresh_per_second=5,
        )
        self._tasks: dict[str, TaskID] = {}
        if self._total:
            self._screen.say(self._title)
        name = "all trials" if self._total else self._title
        self._whole = self._progress.add_task(name, total=self._total or None, said="")
        self._progress.start()

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def note(self, text: str) -> None:
        self._progress.update(self._whole, said=escape(text))

    def _stage(self, name: str, text: str, share: float) -> None:
        self._progress.update(self._whole, completed=share, total=1.0, said=escape(text))

    def _running(self, update: Update, text: str) -> None:
        task = self._tasks.get(update.trial)
        if task is None:
            name = escape(_shortened(update.trial, self._name))
            task = self._tasks[update.trial] = self._progress.add_task(name, total=None, said="")
        self._progress.update(task, said=escape(text))
        if update.progress:
            self._progress.update(task, completed=update.progress.trial_time, total=update.progress.trial_end)

    def _finished(self, update: Update) -> None:
        if (task := self._tasks.pop(update.trial, None)) is not None:
            self._progress.remove_task(task)
        self._progress.update(
            self._whole, completed=self._ended, said=f"{self._ended} of {counted(self._total, 'trial')}"
        )
