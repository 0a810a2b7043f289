"""The coordinator of a trial whose hosts are started by others:

`python -m services.coordinator --trial runs/x/trials/vitis-1 --spec spec.json --listen 127.0.0.1:40000`
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from emulator.experiment.plan import Plan
from emulator.experiment.rundir import TrialDirectory
from emulator.experiment.spec import TrialSpec
from emulator.fleet.conduct import conduct
from emulator.fleet.coordinator import Coordinator
from emulator.fleet.member import own_versions
from emulator.fleet.verdict import judge
from emulator.runtime.progress import Progress


def main() -> int:
    """Exit status: 0 for a valid trial, 1 for an invalid one."""
    parser = argparse.ArgumentParser(description="The coordinator of a real-time trial")
    parser.add_argument("--trial", type=Path, required=True, help="the trial's directory, with its plan")
    parser.add_argument("--spec", type=Path, required=True, help="the trial's specification, JSON")
    parser.add_argument("--listen", default=os.environ.get("TRELLIS_LISTEN", "127.0.0.1:0"))
    arguments = parser.parse_args()
    directory = TrialDirectory(arguments.trial)
    spec = TrialSpec.model_validate_json(arguments.spec.read_text())
    experiment = directory.path.parent.parent.name
    coordinator = Coordinator(spec, Plan.read(directory.plan), experiment, directory.name)
    early_end = asyncio.run(conduct(coordinator, arguments.listen, _Elsewhere(), _print))
    fidelity = judge(coordinator, own_versions(), early_end)
    fidelity.write(directory.fidelity)
    for reason in fidelity.reasons:
        print(reason)
    return 0 if fidelity.valid else 1


class _Elsewhere:
    """Hosts that others start and watch."""

    def start(self, coordinator: str, hosts: list[str]) -> None:
        print(f"coordinator on {coordinator}, waits for {', '.join(hosts)}", flush=True)

    def deaths(self) -> dict[str, str]:
        return {}


def _print(progress: Progress) -> None:
    print(progress, flush=True)


if __name__ == "__main__":
    sys.exit(main())
