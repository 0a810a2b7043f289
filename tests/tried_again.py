"""Runs pytest with these arguments, and tries the few tests that fail beside others once more, alone.

Tests in real time depend on what else the machine does: one of 7,000 fails now and then where other tests
keep all cores busy. Such a test has to pass alone, and is named at the end, so that it is not overlooked.
Many failures, an error of the collection and a process that crashed are final.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MOST = 3
"""The failures up to which tests are tried again; more of them are no accident."""


class Failures:
    """A plugin that collects the tests that failed, and anything that went wrong outside of a test."""

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.outside = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.tests:
            self.tests.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.outside |= report.failed

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: Any) -> None:
        self.outside = True


def main(arguments: list[str]) -> int:
    """Return the exit status of pytest: 0 if each test passed beside others or alone."""
    failures = Failures()
    status = pytest.main(arguments, plugins=[failures])
    if status != pytest.ExitCode.TESTS_FAILED or failures.outside or len(failures.tests) > MOST:
        return int(status)
    print("These tests failed beside others and are tried alone:", *failures.tests, sep="\n  ", flush=True)
    command = [Path(sys.executable).with_name("pytest"), *failures.tests]
    alone = subprocess.run(command, check=False).returncode
    if alone == 0:
        print("These tests failed beside others and passed alone:", *failures.tests, sep="\n  ")
    return alone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
