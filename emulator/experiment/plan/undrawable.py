"""The error of a plan that cannot be drawn, which names the key that has to change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from emulator.files.trace_error import TraceError

_KEY_FIRST = re.compile(r"((?:[a-z_]+\.)+[a-z_0-9]+|workload): ")
"""A dotted key, with which the drawing rooms begin what they refuse where they know it."""


class Undrawable(ValueError):
    """No plan can be drawn from a spec. `problems` has dotted keys, each with the problem that is there."""

    def __init__(self, problems: Sequence[tuple[str, str]], file: Path | None = None) -> None:
        super().__init__("; ".join(f"{key}: {text}" for key, text in problems))
        self.problems = list(problems)
        self.file = file
        """The file of the experiment's inputs that is at fault, if it is one."""


@contextmanager
def drawn_from(key: str) -> Iterator[None]:
    """Turn a ValueError inside the `with` statement into Undrawable.

    It is about the key that its text begins with, or about `key`.
    """
    try:
        yield
    except Undrawable:
        raise
    except ValueError as error:
        text = " ".join(str(error).split())
        found = _KEY_FIRST.match(text)
        problem = (key, text) if found is None else (found[1], text[found.end() :])
        raise Undrawable([problem], error.file if isinstance(error, TraceError) else None) from error
