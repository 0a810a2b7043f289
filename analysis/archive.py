"""An archive of the classes that the analysis loads, which halves the time until Spark works.

`python -m analysis.archive` makes it: Java analyses a small run and writes what it has loaded (JEP 483, an
"AOT cache"). It lies in the user's cache directory and is of this Java and this Spark alone. Without it
everything works, slower.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

from analysis.java import JAVA, OPTIONS

_SILENT = "-Xlog:disable"
_MAKING = "TRELLIS_JAVA_ARCHIVE"
"""In the environment: where Java is to write the archive at its end."""
_EXPERIMENT = """
name: archive
system: {name: vitis}
peers: 40
workload:
  subscriptions: {kind: random, topics: 10, buckets: 1, per_peer: 3}
  publications: {events: 30}
phases: {join: 2 s, settle: 8 s, measure: 15 s, drain: 5 s}
"""


def archive_options(spark: Path) -> list[str]:
    """Java's options: the class path, which an archive is bound to, and the archive, if there is one."""
    jars = sorted((spark / "jars").glob("*.jar"))
    options = ["-cp", ":".join(map(str, jars))]
    if made := os.environ.get(_MAKING):
        return [*options, _SILENT, f"-XX:AOTCacheOutput={made}"]
    archive = archive_of(jars)
    return [*options, _SILENT, f"-XX:AOTCache={archive}"] if _is_ours(archive) else options


def archive_of(jars: list[Path]) -> Path:
    """Where the archive of these classes is, or would be."""
    digest = hashlib.sha256("\n".join((JAVA, *OPTIONS)).encode())
    for path in (Path(JAVA), *jars):
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return _folder() / f"spark-{digest.hexdigest()[:16]}.aot"


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trellis"


def _is_ours(path: Path) -> bool:
    """Whether nobody else can have written this file: Java runs what is in it."""
    try:
        found = [path.lstat(), path.parent.lstat()]
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return all(s.st_uid == os.getuid() and not s.st_mode & others for s in found) and path.is_file()


def main() -> int:
    """Make the archive unless it is there. Exit status 1 if that did not work."""
    from analysis.java import spark_home

    archive = archive_of(sorted((spark_home() / "jars").glob("*.jar")))
    if _is_ours(archive):
        return 0
    archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in archive.parent.glob("spark-*.aot"):
        old.unlink()
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        made = Path(folder) / "archive"
        os.environ[_MAKING] = str(made)
        _analyze(Path(folder))
        if not made.is_file():
            print("Java wrote no archive of classes; analysis works without, slower", file=sys.stderr)
            return 1
        made.rename(archive)
    return 0


def _analyze(folder: Path) -> None:
    """Run a small experiment and analyse it."""
    from analysis.pipeline import analyze
    from analysis.session import close_java
    from emulator.experiment.load import load
    from emulator.experiment.runs import create_run
    from emulator.experiment.sweep import run_sweep

    file = folder / "archive.yaml"
    file.write_text(_EXPERIMENT)
    spec = load(file, [])
    run = create_run(spec, folder)
    run_sweep(run, spec, 1, lambda update: None)
    analyze(run, lambda text: None)
    close_java(limit=120.0)


if __name__ == "__main__":
    sys.exit(main())
