"""A fault that a user's package plants in Chord is found by the command, and made small."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = """\
from emulator.contract.invariants import Broken, Invariant
from emulator.contract.system import OverlayKind
from emulator.protocols.overlays.chord import Chord, ChordParameters


class Planted(Chord):
    def __init__(self, environment, parameters):
        super().__init__(environment, parameters)
        self.root = environment.peer

    def _changed(self):
        super()._changed()
        self.root = min([self.root, *(contact.peer for contact in self.state.successors)])


def stale_root(up):
    stale = [peer for peer, node in up.parts(Planted) if up.down_for(node.root) > 10]
    return Broken(stale[:5], "their root has been down for ten seconds") if stale else None


PLANTED = OverlayKind(
    "planted",
    "Chord with a root that may be stale",
    "none",
    ChordParameters,
    Planted,
    invariants=[Invariant("stale_root", "Nobody has a root that is down.", "planted:stale_root")],
)
"""
FILE = """\
name: looks
system: {name: planted, parameters: {stabilization: 2 s, timeout: 1 s}}
peers: 14
draw:
  peers: {from: 12, to: 18}
  network.loss: [0 %, 1 %]
  faults:
    number: [0, 3]
    of:
      - {at: {from: 25 s, to: 30 s}, for: 25 s, crash: {share: {from: 0.1, to: 0.4}}}
      - {at: {from: 25 s, to: 30 s}, for: 25 s, links: {share: 0.3, delay: 100 ms}}
      - at: {from: 25 s, to: 30 s}
        for: 25 s
        partition: {share: {from: 0.08, to: 0.3}, senders: told}
workload: {lookups: {rate: 0.5}}
invariants: {every: 1 s, hold: [stale_root], stop: true}
phases: {join: 10 s, settle: 10 s, measure: 40 s, drain: 0 s}
"""
AGAIN = """\
import json, sys
from pathlib import Path
import small_trial
from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.draw_plan import draw_plan

spec = trials(load(Path(sys.argv[1])))[0].spec
outcome = small_trial.run(spec, draw_plan(spec), Path("again"))
print(json.loads(outcome.directory.invariants.read_text())["broken"][0]["invariant"])
"""


def test_the_command_finds_a_planted_fault_of_a_package_and_makes_it_small(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(PACKAGE)
    (tmp_path / "looks.yaml").write_text(FILE)
    info = tmp_path / "planted-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[trellis.overlays]\nplanted = planted:PLANTED\n")
    path = os.pathsep.join(map(str, (tmp_path, TESTS.parent, TESTS)))
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "300"}

    def python(*words: str) -> subprocess.CompletedProcess[str]:
        program, limit = [sys.executable, *words], 280
        return subprocess.run(
            program, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=limit
        )

    command = ("-c", "from trellis.command.cli import main; main()", "campaign", "looks.yaml")
    done = python(*command, "--trials", "4", "--shrink", "1", "--budget", "8")
    assert done.returncode == 3, done.stderr
    found = re.search(r"breaks stale_root with (\d+) peers? and (\d+) faults?", done.stdout)
    assert found is not None, done.stdout
    assert int(found[1]) <= 10 and int(found[2]) <= 2
    (small,) = (tmp_path / "runs").glob("looks-*/smaller/*.yaml")
    again = python("-c", AGAIN, str(small))
    assert again.stdout.split()[-1:] == ["stale_root"], again.stderr
