"""The program `helm`, which installs and removes releases."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trellis.command.release.errors import ReleaseError

HOOK_LIMIT = 600
"""The seconds that checks before the installation may take; the command gives up earlier if one is stuck."""
_ANSWER_LIMIT = 120.0
_END_LIMIT = 10.0


@dataclass(frozen=True, slots=True)
class Installation:
    """The parameters of an installation."""

    release: str
    chart: Path
    experiment: str
    """The experiment file's text, resolved."""
    values: tuple[Path, ...] = ()
    """The files with values of the chart; later ones win over earlier ones."""
    settings: tuple[str, ...] = ()
    """The `key=value` settings, which win over the files."""


class Helm:
    """Calls `helm` for one namespace, with the same `KUBECONFIG` as the `Cluster`."""

    def __init__(self, namespace: str) -> None:
        """Raises ReleaseError if helm is not installed."""
        program = shutil.which("helm")
        if program is None:
            raise ReleaseError(
                "the program helm is not on the PATH. Install Helm 3: https://helm.sh/docs/intro/install/"
            )
        self._program = program
        self._namespace = namespace

    def release(self, name: str) -> dict[str, Any] | None:
        """Return what Helm knows of an installed release: chart, status, ...; None if there is none."""
        found = self._call("list", "--all", "--filter", f"^{name}$", "--output", "json")
        return next(iter(json.loads(found)), None)

    def install(self, installation: Installation) -> Installing:
        """Begin to install. The caller closes what is returned."""
        return Installing([self._program, "--namespace", self._namespace], installation)

    def uninstall(self, name: str) -> None:
        """Remove a release without waiting for its pods to end. Raises ReleaseError."""
        self._call("uninstall", name)

    def _call(self, *arguments: str) -> str:
        command = [self._program, "--namespace", self._namespace, *arguments]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ANSWER_LIMIT
            )
        except subprocess.TimeoutExpired:
            raise ReleaseError(f"helm {arguments[0]} has not ended in {_ANSWER_LIMIT:g} s") from None
        if done.returncode:
            raise ReleaseError(f"helm {arguments[0]} failed: {_told(done.stderr)}")
        return done.stdout


class Installing:
    """A `helm install` under way.

    It waits for the chart's checks, which may be stuck, so it can be watched.
    """

    def __init__(self, helm: Sequence[str], installation: Installation) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="trellis-")
        experiment = Path(self._folder.name) / "experiment.yaml"
        experiment.write_text(installation.experiment)
        self._said = Path(self._folder.name) / "said"
        command = [*helm, "install", installation.release, str(installation.chart)]
        command += ["--timeout", f"{HOOK_LIMIT}s", "--set-file", f"experiment={experiment}"]
        for file in installation.values:
            command += ["--values", str(file)]
        for setting in installation.settings:
            command += ["--set", setting]
        # Helm has a process group of its own: an interrupt may reach it only when its release can be removed.
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )

    def done(self) -> bool:
        """Return whether the installation has ended. Raises ReleaseError if it failed."""
        status = self._process.poll()
        if status:
            raise ReleaseError(f"helm install failed: {_told(self._said.read_text())}")
        return status == 0

    def close(self) -> None:
        """End the process, if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
            deadline = time.monotonic() + _END_LIMIT
            while self._process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


def _told(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line.removeprefix("Error: ") for line in lines if not line.startswith(("WARNING", "level="))]
    return "\n  ".join(lines) or "it said nothing"
