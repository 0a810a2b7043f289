"""The experiments that come with Trellis: `trellis:quickstart.yaml`, `trellis:papers/vitis/twitter.yaml`."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[3]
OWN: Final = "trellis"
"""The name of Trellis before the colon."""
_ALIKE: Final = 0.8
"""The least likeness of two names of files, as difflib counts it, of which one may be meant by the other."""


def shipped_experiments() -> Path:
    """Return the folder of the experiments: that of a wheel within `trellis`, or that of the repository."""
    installed = _ROOT / "trellis" / "experiments"
    return installed if installed.is_dir() else _ROOT / "experiments"


def shipped_files() -> dict[str, Path]:
    """Return the experiments by the part of their names after the colon."""
    folder = shipped_experiments()
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.yaml"))}


def meant_experiments(path: Path) -> list[str]:
    """Return the names of the experiments, at most three, that the path of a file that is not there may mean.

    Their files have its name but for the ending, or one that is nearly the same.
    """
    known = shipped_files()
    stems = {Path(file).stem for file in known}
    alike = [path.stem] if path.stem in stems else difflib.get_close_matches(path.stem, stems, 1, _ALIKE)
    found = [file for file in known if Path(file).stem in alike]
    ends = [file for file in found if path.as_posix().endswith(file)]
    return [f"{OWN}:{file}" for file in (ends or found)[:3]]
