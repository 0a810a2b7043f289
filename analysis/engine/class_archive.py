"""An archive of the classes that the analysis loads, which halves the time until Spark works.

Java writes and reads it (JEP 483: an "AOT cache"); `analysis.make_class_archive` has it made. It lies in the
user's cache directory and holds only for this Java and this Spark. Without it everything works, but slower.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from analysis.engine.java import JAVA, OPTIONS

_SILENT = "-Xlog:disable"
MAKING = "TRELLIS_JAVA_ARCHIVE"
"""The environment variable that names the file to which Java writes the archive at its end."""


def archive_options(spark: Path) -> list[str]:
    """Return Java's options: the class path, which an archive is bound to, and the archive, if
    there is one."""
    options = ["-cp", ":".join(map(str, _jars(spark)))]
    if made := os.environ.get(MAKING):
        return [*options, _SILENT, f"-XX:AOTCacheOutput={made}"]
    archive = archive_of(spark)
    return [*options, _SILENT, f"-XX:AOTCache={archive}"] if is_ours(archive) else options


def archive_of(spark: Path) -> Path:
    """Return where the archive of the classes of this Spark is, or would be."""
    jars = _jars(spark)
    digest = hashlib.sha256("\n".join((JAVA, *OPTIONS)).encode())
    for path in (Path(JAVA), *jars):
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return _folder() / f"spark-{digest.hexdigest()[:16]}.aot"


def _jars(spark: Path) -> list[Path]:
    """Return the files of Spark's classes, without its machine learning, whose functions every session would
    register."""
    return sorted(jar for jar in (spark / "jars").glob("*.jar") if not jar.name.startswith("spark-mllib"))


def _folder() -> Path:
    """Return the user's cache folder, or one that is not there for a user without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trellis"
    except RuntimeError:
        return Path("/nonexistent/trellis")


def is_ours(path: Path) -> bool:
    """Return whether only this user can have written the file: Java runs what is in it."""
    try:
        found = [path.lstat(), path.parent.lstat()]
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return all(s.st_uid == os.getuid() and not s.st_mode & others for s in found) and path.is_file()
