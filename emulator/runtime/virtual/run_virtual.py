"""The virtual runtime: all peers of a trial in one process, on a virtual clock."""

from __future__ import annotations

import gc

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.link_seconds import link_seconds
from emulator.experiment.plan.tables import Plan, operations_of
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import (
    Check,
    Fidelity,
    HostReport,
    allowed,
    crossings_check,
)
from emulator.experiment.run.link_report import link_reports
from emulator.kernels import use_huge_pages
from emulator.runtime.breaches import checks_asked_for, contract_check, is_checked
from emulator.runtime.plan_script import network_of
from emulator.runtime.progress import Progress, Report
from emulator.runtime.virtual.checked_world import CheckedWorld
from emulator.runtime.virtual.event_loop import HOST, VirtualWorld
from emulator.runtime.virtual.invariant_watch import InvariantWatch
from emulator.telemetry.recorder import Recorder

EPOCH_UNIX_NS = 1_000_000_000 * 10**9
"""The Unix time (ns) at trial time 0 of every virtual trial: 9 September 2001, 01:46:40 UTC."""
_REPORT_EVERY = 1.0
"""The seconds of trial time between two reports of progress."""


def run_virtual(spec: TrialSpec, plan: Plan, directory: TrialDirectory, report: Report) -> Fidelity:
    """Run the trial; telemetry and `fidelity.json` are in `directory` afterwards.

    Raises OSError if telemetry could not be written.
    """
    use_huge_pages()
    network = network_of(spec, plan)
    recorder = Recorder(
        directory.telemetry,
        HOST,
        experiment=directory.path.parent.parent.name,
        trial=directory.name,
        seed=spec.seed,
        start_unix_ns=EPOCH_UNIX_NS,
    )
    gc_was_enabled = gc.isenabled()
    try:
        # The collector is off, because most objects of a trial live as long as its peers and reference counts
        # free nearly all others. The loop below collects the cycles that peers leave behind.
        gc.disable()
        checked = is_checked(spec) or checks_asked_for()
        kind = CheckedWorld if checked else VirtualWorld
        world = kind(spec, plan, network, recorder)
        phases = spec.phases
        for at in (phases.measure_start, phases.measure_end):
            world.call_at(at, world.snapshot)
        watch = InvariantWatch(world, spec, plan) if spec.invariants is not None else None
        interval = spec.telemetry.metrics_interval
        for index in range(1, int(phases.end / interval) + 1):
            world.call_at(index * interval, world.interval)
        time, collected = 0.0, 0
        while time < phases.end:
            time = min(time + _REPORT_EVERY, phases.end)
            world.run_until(time)
            report(_progress(world, spec))
            if watch is not None and watch.is_over:
                break
            if world.ended - collected >= spec.peers:
                collected = world.ended
                gc.collect()
    finally:
        recorder.close()
        if gc_was_enabled:
            gc.enable()
    if watch is not None:
        watch.write(directory)
    broken = world.breaches.told()
    faults = [acted.report(HOST) for acted in world.faults.acted]
    partitions = any(fault.partition for fault in spec.faults)
    operations = operations_of(plan, spec.workload.kind)
    missed = allowed(
        "operations missed",
        operations - world.asked,
        "operations_missed",
        spec.fidelity.operations_missed,
        operations,
        "operations",
        ["their peers were not up"],
    )
    fidelity = Fidelity(
        runtime="virtual",
        enforced_by="virtual clock",
        checks=[
            Check("spans lost", recorder.lost_spans, spec.fidelity.lost_spans, "spans"),
            # Peers were not asked for anything after an invariant had ended the trial.
            *([missed] if watch is None or not watch.is_over else watch.checks()),
            *world.deliveries.checks(spec.fidelity),
            *([contract_check(broken)] if is_checked(spec) or broken else []),
            *([crossings_check(faults)] if partitions else []),
        ],
        hosts=[HostReport(HOST, spec.peers)],
        measured={"messages": world.messages, "loop_events": world.handled},
        written=[recorder.written()],
        dropped=world.drops.told(),
        links=link_reports(
            network.link_use(), spec.network.bandwidth, spec.intervals(), link_seconds(spec, plan)
        ),
        faults=faults,
    )
    fidelity.write(directory.fidelity)
    return fidelity


def _progress(world: VirtualWorld, spec: TrialSpec) -> Progress:
    phases = spec.phases
    return Progress(
        phase=phases.at(world.time),
        trial_time=world.time,
        trial_end=phases.end,
        peers_up=world.peers_up,
        asked=world.asked,
        delivered=world.delivered,
        messages=world.messages,
        words=spec.workload.kind.words,
    )
