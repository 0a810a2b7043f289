"""A trial on the virtual clock finds loaded what it needs, since many are forked from one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from emulator.files.child_programs import surroundings

_EXPERIMENT = """\
name: loaded
system: chord
peers: 10
phases: {join: 2 s, settle: 5 s, measure: 5 s, drain: 2 s}
network: {latency: {kind: king, hosts: 10}, loss: 1 %}
workload: {lookups: {rate: 2}}
"""
_PROGRAM = """
import sys
from pathlib import Path
from emulator.experiment.file.load import load
from emulator.experiment.run.directory import TrialDirectory
from emulator.trials import virtual_trial
from emulator.trials.trial import run_trial

spec = load(Path(sys.argv[1]))
directory = TrialDirectory(Path(sys.argv[2]))
directory.path.mkdir()
before = set(sys.modules)
run_trial(spec, directory, lambda progress: None)
loaded = {name.partition(".")[0] for name in sys.modules.keys() - before}
print(*sorted(loaded - set(sys.stdlib_module_names) - {"emulator"}))
"""


def test_a_trial_loads_no_library(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(_EXPERIMENT)
    arguments = (sys.executable, "-c", _PROGRAM, str(tmp_path / "a.yaml"), str(tmp_path / "trial"))
    ran = subprocess.run(arguments, capture_output=True, text=True, env=surroundings(), timeout=120)
    assert (ran.returncode, ran.stdout.strip()) == (0, ""), ran.stderr
