"""The script of the continuous integration says at its end what it could not test."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / ".ci" / "run"
(JAEGER,) = re.findall(r"^jaeger_version=(\S+)", SCRIPT.read_text(), re.MULTILINE)
(AXE,) = re.findall(r"^axe_version=(\S+)", SCRIPT.read_text(), re.MULTILINE)


def program(path: Path, text: str = "exit 0") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("from_last_time", [True, False])
def test_what_is_not_at_hand_is_named_at_the_end(tmp_path: Path, from_last_time: bool) -> None:
    project, found, kept = tmp_path / "project", tmp_path / "found", tmp_path / "kept" / "trellis-ci"
    (project / ".ci").mkdir(parents=True)
    shutil.copy(SCRIPT, project / ".ci" / "run")
    program(project / ".ci" / "audit")
    program(found / "make", "echo made $*")
    for absent in ("go", "npm", "apt-get"):
        program(found / absent, "exit 1")
    if from_last_time:
        program(kept / f"jaeger-{JAEGER}")
        program(kept / f"axe-{AXE}" / "node_modules" / "axe-core" / "axe.min.js")
    surroundings = {
        "PATH": f"{found}:/usr/bin:/bin",
        "XDG_CACHE_HOME": str(kept.parent),
        "HOME": str(tmp_path),
    }
    ended = subprocess.run(
        [project / ".ci" / "run"], env=surroundings, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "made test" in ended.stdout
    absent_parts = [
        "there is no kernel with netem",
        "there is no Prometheus",
        "there is no cluster",
        *([] if from_last_time else ["there is no Jaeger", "there is no axe"]),
        "there are no real traces",
    ]
    told = ended.stderr.splitlines()[-len(absent_parts) :]
    assert told == [f"SKIPPED: {part}, so what needs it was not tested" for part in absent_parts]
    assert ended.stderr.count("SKIPPED") == len(absent_parts)
