"""The option `--watch` of `status`, and what shows how something stands until nothing more will change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Annotated

import typer
from rich.live import Live
from rich.text import Text

from trellis.command.outcome import out

Watch = Annotated[
    bool, typer.Option("--watch", help="Show it again and again, until there is a report, or Ctrl-C.")
]
_PERIOD = 2.0
"""The least seconds between two looks."""
_REST = 5.0
"""A pause takes as many times as long as the look before it, so that looking holds nothing up."""


@dataclass(frozen=True, slots=True)
class View:
    """The state of something now."""

    lines: list[str]
    ended: bool
    """This is true if nothing more will change by itself."""


def show(view: View) -> None:
    """Print the lines of a view."""
    for line in view.lines:
        out.print(line, markup=False, soft_wrap=True)


def watch(look: Callable[[], View]) -> None:
    """Show what `look` returns until it has ended. Raises what `look` raises.

    On a terminal each view takes the place of the one before; elsewhere only lines that are new are printed.
    """
    if out.is_terminal:
        with Live(console=out, auto_refresh=False, transient=True) as live:
            last = _follow(look, lambda view: live.update(_fitting(view.lines), refresh=True))
        show(last)
        return
    shown: set[str] = set()

    def show_new(view: View) -> None:
        show(View([line for line in view.lines if line not in shown], view.ended))
        shown.clear()
        shown.update(view.lines)

    _follow(look, show_new)


def _fitting(lines: list[str]) -> Text:
    """Return as many of the last lines as the terminal has; the trials are at the end."""
    return Text("\n".join(lines[-max(1, out.height - 1) :]), no_wrap=True, overflow="ellipsis")


def _follow(look: Callable[[], View], tell: Callable[[View], None]) -> View:
    while True:
        began = monotonic()
        view = look()
        tell(view)
        if view.ended:
            return view
        sleep(max(_PERIOD, _REST * (monotonic() - began)))
