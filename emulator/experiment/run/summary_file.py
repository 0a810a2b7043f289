"""The file `summary.json`: what it was made from, and whether that still is what the run directory has.

Beside it, `digests.json` has the digest of every file of the tables.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from typing import Any

from emulator.experiment.run.directory import RunDirectory, read_fields, write_whole
from emulator.experiment.run.seals import is_changed
from emulator.files.damage import DamagedFile
from emulator.files.digests import digest_of, digests_of

_DIGEST, _TABLES = "digest", "tables"


def write_summary(run: RunDirectory, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Write the summary with a digest of itself and one of the tables, whose files get digests too.

    Returns what was written.

    Raises OSError, and ValueError for NaN and infinity, which JSON does not have.
    """
    files = digests_of(run.tables.glob("*/*/*.parquet"), run.path) if run.tables.is_dir() else {}
    write_whole(run.digests, json.dumps(files, indent=1) + "\n")
    made = {**summary, _TABLES: digest_of(run.digests)}
    made[_DIGEST] = _digest(made)
    write_whole(run.summary, json.dumps(made, indent=2, allow_nan=False) + "\n")
    return made


def read_summary(run: RunDirectory) -> dict[str, Any]:
    """Return the summary as its trials stand now: one that was made invalid since makes the run invalid.

    Raises DamagedFile if the summary was changed after it was made, or is none. Summaries of earlier versions
    have no digest, and are believed.
    """
    summary = read_fields(run.summary, again(run))
    told = summary.get(_DIGEST)
    made_with_one = summary.keys() & {_DIGEST, _TABLES} or (summary and run.digests.exists())
    if made_with_one and told != _digest({key: summary[key] for key in summary if key != _DIGEST}):
        raise DamagedFile(f"{run.summary} was changed since the analysis wrote it. {again(run)}")
    for trial in summary.get("trials") or ():
        if isinstance(trial, dict) and trial.get("valid") is True and "trial" in trial:
            _respect_status(run, summary, trial)
    return summary


def table_digests(run: RunDirectory, summary: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the digest of each file of the tables by its name from the run directory; None if an earlier
    version made them.

    Raises DamagedFile if they are not those that the summary was made with.
    """
    if _TABLES not in summary:
        return None
    files = read_fields(run.digests, again(run))
    if not run.digests.exists() or digest_of(run.digests) != summary[_TABLES]:
        raise DamagedFile(f"{run.digests} is gone or was changed since the analysis wrote it. {again(run)}")
    return files


def check_table(run: RunDirectory, digests: Mapping[str, str], table: str, trial: str = "") -> None:
    """Check that the files of a table, or of one trial in it, are those of the analysis.

    `trial` is the name of the trial's folder. Raises DamagedFile that names a file.
    """
    folder = run.tables / table / trial if trial else run.tables / table
    found = {path.relative_to(run.path).as_posix(): path for path in folder.glob("**/*.parquet")}
    prefix = folder.relative_to(run.path).as_posix() + "/"
    expected = {name for name in digests if name.startswith(prefix)}
    for name in sorted(expected | found.keys()):
        if name not in found:
            raise DamagedFile(f"{run.path / name} is gone since the analysis wrote it. {again(run)}")
        if name not in expected:
            raise DamagedFile(f"{run.path / name} is not of the analysis. {again(run)}")
        if digest_of(found[name]) != digests[name]:
            raise DamagedFile(f"{run.path / name} was changed since the analysis wrote it. {again(run)}")


def again(run: RunDirectory) -> str:
    """Return what to do about results that cannot be believed."""
    return f"Make it again: trellis analyze {shlex.quote(str(run.path))}"


def _respect_status(run: RunDirectory, summary: dict[str, Any], trial: dict[str, Any]) -> None:
    """Make a trial and the run invalid if the trial's own files say by now that it is."""
    directory = run.trial(str(trial["trial"]))
    status, fidelity = directory.read_status(), directory.read_fidelity()
    state = status.get("state", "valid")
    if not status and directory.path.exists():
        state, why = "invalid", f"its {directory.status.name} is gone since the analysis"
    elif state == "valid" and is_changed(directory.fidelity, status):
        state, why = "invalid", f"its {directory.fidelity.name} was changed since the trial ended"
    elif state != "valid":
        why = f"it is {state} since the analysis: " + ("; ".join(status["reasons"]) or "no reason is given")
    elif fidelity.get("valid") is False:
        why = f"{directory.fidelity.name} says since the analysis that it is not valid"
    else:
        return
    trial |= {"valid": False, "state": state, "reasons": [why]}
    summary["valid"] = False
    summary["reasons"] = [*summary.get("reasons", []), f"{trial['trial']}: {why}"]


def _digest(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
