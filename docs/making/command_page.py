"""The reference of the command, made from its help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import typer

from trellis.command.cli import app

_WIDTH: Final = 100
_HEAD: Final = """\
# The command

This page is the help of `trellis` and of each of its commands: `make reference` writes it. The exit status is
0 if all trials are valid, 1 if one is invalid or failed, 2 for bad input, and 3 if all are valid but one is
not as the experiment [expects](../expectations.md#what-an-experiment-expects).
"""


def command_page() -> str:
    """Return the page of all commands, as Markdown."""
    return "\n".join([_HEAD, *_helped(typer.main.get_command(app), "trellis", None)]) + "\n"


def _helped(command: Any, path: str, above: Any) -> Iterator[str]:
    """Yield the help of a command and of those below it."""
    widths = {"terminal_width": _WIDTH, "max_content_width": _WIDTH}
    name = path.rpartition(" ")[2]
    context = command.context_class(command, above, name, **command.context_settings | widths)
    yield f"## {path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    for below, part in getattr(command, "commands", {}).items():
        if not part.hidden:
            yield from _helped(part, f"{path} {below}", context)
