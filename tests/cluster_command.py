"""The command `trellis` against a real cluster, as its user calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from chart_rendering import SMALL_FILE
from cluster_volume import IMAGES, folder_for_claim, kubectl

COLLECTOR = os.environ.get("TRELLIS_COLLECTOR_IMAGE", "localhost/opentelemetry-collector-contrib:0.155.0")
TRELLIS = (sys.executable, "-c", "from trellis.command.cli import main; main()")
RUN_LIMIT = 400.0
"""Seconds for a run of half a minute, with Spark on a busy machine."""


def room_for(release: str, namespace: str, folder: Path) -> AbstractContextManager[Path]:
    """Make a volume for the claim that the release will make."""
    return folder_for_claim(namespace, f"{release}-results", folder)


def command(verb: str, *arguments: str | Path, namespace: str) -> list[str]:
    return [*TRELLIS, verb, *map(str, arguments), "--namespace", namespace]


def run_command(file: Path, release: str, namespace: str, *more: str) -> list[str]:
    arguments: list[str | Path] = [file, "--release", release, "--image-tag", "test"]
    arguments += ["--image-prefix", IMAGES or "", "--values", SMALL_FILE]
    values = {"images.pullPolicy": "Never", "images.collector": COLLECTOR, "storage.className": ""}
    for key, value in values.items():
        arguments += ["--chart-set", f"{key}={value}"]
    return command("run", *arguments, *more, namespace=namespace)


def call(line: list[str], folder: Path, limit: float = RUN_LIMIT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)


def left(namespace: str, release: str) -> str:
    """Return the names of all that there still is of a release, its claim apart."""
    kinds = "all,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies"
    found = kubectl("get", kinds, "--namespace", namespace, "--output", "name")
    return "\n".join(line for line in found.splitlines() if f"/{release}" in line or f".{release}." in line)


def claims(namespace: str) -> list[str]:
    return kubectl("get", "persistentvolumeclaims", "--namespace", namespace, "--output", "name").split()
