"""An experiment that is to run in pods, which see nothing of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from emulator.experiment.file.document import ExperimentError, dotted, read_document
from emulator.experiment.file.input_paths import named_files
from emulator.experiment.file.load import load
from emulator.experiment.file.overrides import apply_options
from emulator.experiment.file.spec import ExperimentSpec, Kubernetes
from emulator.experiment.file.variants import trials
from trellis.command.release.errors import ReleaseError

INPUTS = "/inputs/"
"""The folder in which the chart mounts files that experiments name."""
_DATA = "TRELLIS_DATA"
"""The variable that names the folder of such files, here and in pods."""


def runtime_kind(path: Path, options: Sequence[str]) -> str | None:
    """Return `runtime.kind` as the file with these options has it; None where it is not written or read."""
    try:
        document = read_document(path)
        apply_options(document, options)
    except ExperimentError:
        return None
    runtime = document.values.get("runtime")
    kind = runtime.get("kind") if isinstance(runtime, dict) else runtime
    return kind if isinstance(kind, str) else None


def load_for_pods(path: Path, options: Sequence[str]) -> ExperimentSpec:
    """Read an experiment file for a release: all its peers in pods, or all its trials on the virtual clock.

    Raises ExperimentError as `load` does, and ReleaseError if pods could not run it.
    """
    with _files_of_pods():
        spec = load(path, options, check_files=False)
    runtimes = {trial.spec.runtime.kind for trial in trials(spec)}
    if runtimes not in ({"kubernetes"}, {"virtual"}):
        others = ", ".join(sorted(runtimes - {"kubernetes"}))
        raise ReleaseError(
            f"{path}: some trials run on {others}: a release runs all of them in pods, or all on the "
            "virtual clock. "
            f"Drop runtime.kind from vary, or set it with --set runtime.kind=kubernetes"
        )
    hosts = {trial.spec.runtime.hosts for trial in trials(spec) if isinstance(trial.spec.runtime, Kubernetes)}
    if len(hosts) > 1:
        raise ReleaseError(
            f"{path}: vary.runtime.hosts: a release has the same pods for all trials. "
            f"Choose one number with --set runtime.hosts={max(hosts)}, and run the others by themselves"
        )
    values = spec.model_dump(mode="json")
    local = []
    for key in named_files(values):
        here = values
        for part in key:
            here = here[part]  # type: ignore[index]
        if not str(here).startswith(INPUTS):
            local.append(f"{dotted(key)}: {here}")
    if local:
        raise ReleaseError(
            f"{path} names files of this machine, which pods do not have:\n  "
            + "\n  ".join(local)
            + f"\nPut them on a volume that the chart mounts at {INPUTS} (docs/run-on-a-cluster.md), "
            f"and name them {INPUTS}..."
        )
    return spec


@contextmanager
def _files_of_pods() -> Iterator[None]:
    """Set `${TRELLIS_DATA}` in experiments to what it is in the pods."""
    before = os.environ.get(_DATA)
    os.environ[_DATA] = INPUTS.rstrip("/")
    try:
        yield
    finally:
        if before is None:
            del os.environ[_DATA]
        else:
            os.environ[_DATA] = before
