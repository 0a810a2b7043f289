"""The processor time and memory that a trial is expected to take, from trying it with few peers."""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.undrawable import Undrawable
from emulator.experiment.run.directory import TrialDirectory
from emulator.layouts.layout import lay_out
from emulator.runtime.progress import Progress
from emulator.runtime.virtual.run_virtual import run_virtual
from trellis.expected_cost import AMONG_MANY, Cost, by_peers

PEERS: Final = (40, 160)
"""The numbers of peers that are tried, if the trial has more."""
LONGEST: Final = 20.0
"""The seconds of processor time after which a trial with few peers is given up."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The cost of a trial that was run with so many peers."""

    peers: int
    cost: Cost


class NotTried(Exception):
    """A trial cannot be tried with few peers; the text is the reason."""


def tried_cost(spec: TrialSpec) -> Cost:
    """Run a trial with 40 and with 160 of its peers, and return what it is expected to take with all of them.

    Raises NotTried if it is no trial on the virtual clock, cannot be drawn with so few peers, or takes too
    long even so.
    """
    if spec.runtime.kind != "virtual":
        raise NotTried(f"runtime.kind is {spec.runtime.kind}, and only trials on the virtual clock are tried")
    tried: list[Tried] = []
    for peers in sorted({min(spec.peers, few) for few in PEERS}):
        # Each in a process of its own, as what a process held once is no longer seen apart.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            cost = process.submit(_run, spec.model_copy(update={"peers": peers})).result()
        tried.append(Tried(peers, cost))
    return extrapolated(tried, spec.peers)


def extrapolated(tried: list[Tried], peers: int) -> Cost:
    """Return the cost with so many peers, of one or two smaller trials.

    A further peer takes as much as one of those by which the two trials differ. It takes longer among many,
    because the processor's caches hold less of all peers' state.
    """
    few, last = tried[0], tried[-1]
    if last.peers >= peers or last.peers == few.peers:
        return last.cost
    more = last.peers - few.peers
    slower = by_peers(AMONG_MANY, peers) / by_peers(AMONG_MANY, last.peers)
    seconds = max(0.0, last.cost.processor_s - few.cost.processor_s) / more * slower
    memory = max(0.0, last.cost.memory_bytes - few.cost.memory_bytes) / more
    further = peers - last.peers
    return Cost(last.cost.processor_s + seconds * further, last.cost.memory_bytes + memory * further)


def _run(spec: TrialSpec) -> Cost:
    began = time.process_time()

    def watch(progress: Progress) -> None:
        if time.process_time() - began > LONGEST:
            raise NotTried(f"takes over {LONGEST:g} s of processor time with {spec.peers} peers")

    try:
        plan = draw_plan(spec)
        with tempfile.TemporaryDirectory() as folder:
            directory = TrialDirectory(Path(folder) / "trial")
            directory.path.mkdir()
            run_virtual(lay_out(spec, plan), plan, directory, watch)
    except Undrawable as error:
        raise NotTried(f"cannot be drawn with {spec.peers} peers: {error}") from None
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Cost(time.process_time() - began, float(memory))
