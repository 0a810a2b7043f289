"""The course of a run in pods, step by step, in a cluster that is none."""

import json
from pathlib import Path

from release_world import PROGRESS

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
runtime: {kind: processes, hosts: 3}
"""


RUN = ("run", "small.yaml", "--on", "kubernetes", "--release", "demo")


def begin(world):
    """The coordinator has made the run directory and runs the trial."""
    world.run.path.mkdir(parents=True, exist_ok=True)
    world.run.experiment.write_text((world.folder / "experiment.yaml").read_text())
    trial = world.run.trial("vitis-1")
    trial.path.mkdir(parents=True, exist_ok=True)
    trial.write_status(state="running", progress=PROGRESS)


def end_trial(world, state="valid", *reasons):
    world.run.trial("vitis-1").write_status(state=state, reasons=list(reasons))


def report(world, valid=True, *reasons):
    world.run.summary.write_text(json.dumps({"valid": valid, "reasons": list(reasons)}))
    world.run.report.parent.mkdir(exist_ok=True)
    world.run.report.write_text("report")


def course(world, *, state="valid", reasons=()):
    """Lay out all of a run, step by step."""
    world.stages = [
        lambda: None,
        lambda: begin(world),
        lambda: None,
        lambda: end_trial(world, state, *reasons),
        lambda: report(world, state == "valid", *reasons),
    ]


def the_run() -> Path:
    (path,) = Path("runs").iterdir()
    return path
