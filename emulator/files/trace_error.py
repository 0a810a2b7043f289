"""The error of a trace or matrix file, with the line that is wrong."""

from __future__ import annotations

from pathlib import Path


class TraceError(ValueError):
    """A trace or matrix file cannot be used. `line` counts from 1; 0 means the file as a whole."""

    def __init__(self, file: Path, line: int, problem: str) -> None:
        where = f"{file}:{line}" if line else str(file)
        super().__init__(f"{where}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem
