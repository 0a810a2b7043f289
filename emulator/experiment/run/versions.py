"""The machine and the code of a trial, for `status.json`."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from emulator.compiler.finder import WHY_INTERPRETED
from emulator.contract.package_versions import form_of, package_versions

_PACKAGES = ("trellis", "protobuf", "grpcio", "numpy", "pyspark")
_SOURCE = Path(__file__).resolve().parents[3]


@cache
def versions() -> dict[str, str | None]:
    """Return the versions of Python and of each package that shapes a result, the git commit if there is one,
    and the form of the core."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found | {"git": _commit(), "core": form_of(WHY_INTERPRETED)} | package_versions()


def _commit() -> str | None:
    """Return the commit, such as "1a2b3c4d5e6f", with "-dirty" if files differ from it; in an image, the
    commit that it was made from."""
    if revision := os.environ.get("TRELLIS_REVISION"):
        return revision
    if not (_SOURCE / ".git").exists():
        return None
    command = ["git", "-C", str(_SOURCE), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


@cache
def machine() -> dict[str, Any]:
    """Return the cores that this process may use, the memory in bytes, and the platform."""
    return {
        "cpus": cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "platform": platform.platform(),
        "processor": platform.machine(),
    }


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def now() -> str:
    """Return the time in UTC, to the second, as ISO 8601 writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
