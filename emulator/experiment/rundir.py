"""The run directory: everything of a run, movable and complete.

runs/<experiment>-<time>/
  experiment.yaml            resolved, with every default written out
  trials/<variant>-<seed>/   plan/ (with what it was drawn from), telemetry/, fidelity.json, status.json
  tables/                    Parquet, partitioned by trial
  summary.json
  report/index.html
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def write_whole(path: Path, text: str) -> None:
    """Replace a file at once, so that a reader or a crash never sees half of it."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(text)
    draft.replace(path)


@dataclass(frozen=True, slots=True)
class TrialDirectory:
    """`trials/<variant>-<seed>`."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def plan(self) -> Path:
        return self.path / "plan"

    @property
    def telemetry(self) -> Path:
        return self.path / "telemetry"

    @property
    def fidelity(self) -> Path:
        return self.path / "fidelity.json"

    @property
    def journal(self) -> Path:
        """What hosts told the coordinator, while the trial is on."""
        return self.path / "journal.jsonl"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    def read_status(self) -> dict[str, Any]:
        """Empty if the trial never started."""
        return json.loads(self.status.read_text()) if self.status.exists() else {}

    def write_status(self, **fields: Any) -> None:
        """Merge `fields` into the status; `state` is planned, running, valid, invalid or failed."""
        write_whole(self.status, json.dumps(self.read_status() | fields, indent=2) + "\n")


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """`runs/<experiment>-<time>`."""

    path: Path

    @property
    def experiment(self) -> Path:
        return self.path / "experiment.yaml"

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    @property
    def summary(self) -> Path:
        return self.path / "summary.json"

    @property
    def report(self) -> Path:
        return self.path / "report" / "index.html"

    def trial(self, name: str) -> TrialDirectory:
        return TrialDirectory(self.path / "trials" / name)

    def trials(self) -> list[TrialDirectory]:
        """Those on disk, by name."""
        folder = self.path / "trials"
        return [TrialDirectory(p) for p in sorted(folder.iterdir()) if p.is_dir()] if folder.exists() else []
