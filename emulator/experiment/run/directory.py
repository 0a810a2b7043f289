"""The run directory: everything of a run, movable and complete.

runs/<experiment>-<time>/
  experiment.yaml            resolved, with every default written out
  trials/<variant>-<seed>/   plan/ (with what it was drawn from), telemetry/, fidelity.json, status.json
  tables/                    Parquet, partitioned by trial
  summary.json               with digests.json, those of all files of the tables
  report/index.html
"""

from __future__ import annotations

import contextlib
import errno
import json
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

from emulator.files.damage import DamagedFile
from emulator.files.disk import naming
from emulator.files.reading import read_regular

_LARGEST = 1 << 30
"""The most bytes of a file of a run directory."""
_MEND = "Remove the trial's folder and resume the run, or get the file back"
_STATES = ("planned", "running", "valid", "invalid", "failed")
_TIMES = ("trial_time", "trial_end")


def write_whole(path: Path, text: str) -> None:
    """Replace a file at once, so that neither a reader nor a crash leaves half of it.

    Raises OSError that names the file; then the file has its old content, and no half of the new one.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no file, so it is not replaced", str(path))
    draft = path.with_name(path.name + ".new")
    try:
        with naming(draft):
            draft.write_text(text, encoding="utf-8")
            draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def read_fields(path: Path, mend: str) -> dict[str, Any]:
    """Return the fields of a JSON file; none if it is not there.

    Raises DamagedFile, which ends with `mend`, if it holds anything else, and OSError if it cannot be read.
    """
    try:
        fields = json.loads(read_regular(path, _LARGEST))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged: it is not JSON ({error}). {mend}") from None
    if not isinstance(fields, dict):
        raise DamagedFile(f"{path} is damaged: it holds no fields. {mend}")
    return fields


def _has(fields: Any, key: str, kind: type | UnionType) -> bool:
    return isinstance(fields, dict) and isinstance(fields.get(key), kind)


@dataclass(frozen=True, slots=True)
class TrialDirectory:
    """The folder of a trial: `trials/<variant>-<seed>`."""

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
    def invariants(self) -> Path:
        """The invariants that were looked at, and which were broken, if the experiment asks for any."""
        return self.path / "invariants.json"

    @property
    def journal(self) -> Path:
        """The journal of what hosts told the coordinator, while the trial is on."""
        return self.path / "journal.jsonl"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    def read_status(self) -> dict[str, Any]:
        """Return the status, which is empty if the trial never started. Raises DamagedFile."""
        status = read_fields(self.status, _MEND)
        reasons, progress = status.get("reasons") or [], status.get("progress")
        sound = status.get("state", "planned") in _STATES and isinstance(progress, dict | None)
        times = [(progress or {}).get(key, 0) for key in _TIMES] if sound else []
        sound = sound and all(isinstance(time, int | float) for time in times)
        if not (sound and isinstance(reasons, list) and all(isinstance(why, str) for why in reasons)):
            raise DamagedFile(f"{self.status} is damaged: it does not say how the trial is. {_MEND}")
        return status

    def read_fidelity(self) -> dict[str, Any]:
        """Return the fidelity, which is empty if the trial did not come to its end. Raises DamagedFile."""
        fidelity = read_fields(self.fidelity, _MEND)
        checks = fidelity.get("checks", [])
        sound = all(isinstance(fidelity.get(key, []), list) for key in ("checks", "hosts", "reasons"))
        if not (sound and all(_has(host, "host", str) for host in fidelity.get("hosts", []))):
            raise DamagedFile(f"{self.fidelity} is damaged: it lacks checks or hosts. {_MEND}")
        measured = int | float | None  # None says that it was not measured
        if not all("measured" in check and _has(check, "measured", measured) for check in checks):
            raise DamagedFile(f"{self.fidelity} is damaged: a check has no figures. {_MEND}")
        return fidelity

    def read_invariants(self) -> dict[str, Any]:
        """Return how often invariants were looked at and which were broken; nothing if none was asked for.

        Raises DamagedFile.
        """
        found = read_fields(self.invariants, _MEND)
        broken = found.get("broken", [])
        sound = isinstance(broken, list) and all(
            _has(each, "invariant", str) and _has(each, "at_s", int | float) for each in broken
        )
        if not (sound and isinstance(found.get("looks", {}), dict)):
            raise DamagedFile(f"{self.invariants} is damaged: it does not say what was found. {_MEND}")
        return found

    def write_status(self, **fields: Any) -> None:
        """Merge `fields` into the status; `state` is planned, running, valid, invalid or failed."""
        write_whole(self.status, json.dumps(self.read_status() | fields, indent=2) + "\n")


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The folder of a run: `runs/<experiment>-<time>`."""

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
    def digests(self) -> Path:
        """The digests of the files of all tables."""
        return self.path / "digests.json"

    @property
    def report(self) -> Path:
        return self.path / "report" / "index.html"

    def trial(self, name: str) -> TrialDirectory:
        return TrialDirectory(self.path / "trials" / name)

    def trials(self) -> list[TrialDirectory]:
        """Return the trials that are on disk, by name."""
        folder = self.path / "trials"
        return [TrialDirectory(p) for p in sorted(folder.iterdir()) if p.is_dir()] if folder.exists() else []
