"""Tests that fail beside others are tried alone, and whatever is no accident stays a failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_RUNNER = Path(__file__).with_name("tried_again.py")
ONCE = """
from pathlib import Path

def test_once():
    tried = Path(__file__).with_name("tried")
    if not tried.exists():
        tried.touch()
        assert False
"""


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_toy.py").write_text(text)
    command = [sys.executable, _RUNNER, "-n", "1", "test_toy.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_a_test_that_passes_alone_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, ONCE)
    assert done.returncode == 0, done.stdout
    assert "failed beside others and passed alone:\n  test_toy.py::test_once" in done.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def test_never():\n    assert False\n", "tried alone:\n  test_toy.py::test_never"),
        (ONCE + "\ndef test_never():\n    assert False\n", "test_toy.py::test_once"),
    ],
)
def test_a_test_that_fails_alone_is_a_failure(tmp_path: Path, text: str, told: str) -> None:
    done = run(tmp_path, text)
    assert done.returncode == 1
    assert told in done.stdout
    assert "passed alone" not in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        ONCE.replace("assert False", "import os; os._exit(3)"),
        "".join(ONCE.replace("test_once", f"test_{n}").replace('"tried"', f'"{n}"') for n in range(4)),
        "raise ValueError\n",
    ],
    ids=["a crash", "many failures", "an error of the collection"],
)
def test_what_is_no_accident_is_not_tried_again(tmp_path: Path, text: str) -> None:
    done = run(tmp_path, text)
    assert done.returncode != 0
    assert "alone" not in done.stdout
