"""The experiments that come with Trellis: `trellis:quickstart.yaml`, `trellis:papers/vitis/twitter.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[3]
OWN: Final = "trellis"
"""The name of Trellis before the colon."""


def shipped_experiments() -> Path:
    """Return the folder of the experiments: that of a wheel within `trellis`, or that of the repository."""
    installed = _ROOT / "trellis" / "experiments"
    return installed if installed.is_dir() else _ROOT / "experiments"


def shipped_files() -> dict[str, Path]:
    """Return the experiments by the part of their names after the colon."""
    folder = shipped_experiments()
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.yaml"))}
