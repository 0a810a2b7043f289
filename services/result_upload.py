"""The upload of a run directory to an object store, after its report. If it fails, nothing else does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.kept_runs import upload
from emulator.experiment.run.object_store import BadPlace, open_place
from trellis.command.local_runs import about_of

_TERMINATION = Path("/dev/termination-log")
"""The file whose text the cluster keeps with the pod."""


def upload_results(run: RunDirectory, address: str, say: Callable[[str], None]) -> None:
    """Send a run to `address` as `<experiment>-<time>`, the time when it was made, and say how that went."""
    try:
        about = about_of(run)
        if not about["experiment"]:
            raise BadPlace(f"{run.path} cannot be read")
        made = datetime.fromtimestamp(run.experiment.stat().st_mtime, UTC)
        kept = upload(run, open_place(address), f"{about['experiment']}-{made:%Y%m%d-%H%M%S}", about, _silent)
        text = f"uploaded to {kept.place.address}"
    except Exception as error:  # whatever it is, the report is written
        why = str(error) if isinstance(error, BadPlace | OSError) else repr(error)
        text = f"the run was NOT uploaded and stays on the volume: {why}"
    say(text)
    with contextlib.suppress(OSError):
        if _TERMINATION.is_file():
            _TERMINATION.write_text(text)


def _silent(count: int) -> None:
    """Say nothing of the progress."""
