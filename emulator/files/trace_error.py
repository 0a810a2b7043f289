"""What is wrong with a trace or matrix file, and where."""

from __future__ import annotations

from pathlib import Path


class TraceError(ValueError):
    """A file that cannot be used. `line` counts from 1; 0 means the file as a whole."""

    def __init__(self, file: Path, line: int, problem: str) -> None:
        where = f"{file}:{line}" if line else str(file)
        super().__init__(f"{where}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem
