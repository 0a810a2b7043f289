"""The environment of programs that Trellis starts: listed variables of the caller, and a safe path."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_NAMES = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS"),
        *("TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "CI"),
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX"),
        *("PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS", "PYTHONMALLOC"),
        *("VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR", "SPARK_LOCAL_DIRS"),
    }
)
"""The variables that are passed on. Proxies are not among them: our programs talk to each other directly."""
_PREFIXES = ("LC_", "TRELLIS_", "KUBERNETES_", "OTEL_", "GRPC_", "OPENBLAS_", "OMP_", "COV_", "COVERAGE_")


def surroundings(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a program of Trellis: what is on the list of `given`, or of this process.

    PYTHONSAFEPATH keeps Python from importing what lies in the working directory. PYTHONPATH loses
    the entries that mean the working directory.
    """
    given = os.environ if given is None else given
    passed = {name: value for name, value in given.items() if name in _NAMES or name.startswith(_PREFIXES)}
    folders = [
        folder for folder in given.get("PYTHONPATH", "").split(os.pathsep) if Path(folder).is_absolute()
    ]
    if folders:
        passed["PYTHONPATH"] = os.pathsep.join(folders)
    return passed | {"PYTHONSAFEPATH": "1"}
