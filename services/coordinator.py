"""The coordinator of a run whose hosts are pods:

`python -m services.coordinator --experiment experiment.yaml --run run --listen 10.0.0.1:7000`
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from functools import partial
from pathlib import Path
from threading import Event

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.variants import Trial, trials
from emulator.experiment.plan.provenance import OtherPlan
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import NoRun, take_up
from emulator.files.damage import DamagedFile
from emulator.fleet.coordinator.authorization import Trust
from emulator.fleet.coordinator.live_metrics import LiveCollector, RequestCollector
from emulator.fleet.coordinator.live_reading import read_live
from emulator.fleet.pods.own_image import own_image
from emulator.fleet.pods.pod_fleet import PodFleet, serving_pods
from emulator.fleet.pods.trial_events import TrialEvents, own_events
from emulator.fleet.pods.trial_pauses import TrialPauses
from emulator.network.listening import for_grpc
from emulator.network.loopback import any_port
from emulator.network.metrics_server import BadAddress, ProcessMetrics, serve
from emulator.network.refusal_metrics import RefusalMetrics
from emulator.runtime.realtime.clock import unix_ns
from emulator.trials.sweep import about, prepare
from emulator.trials.trial import FINISHED, describe, run_trial
from emulator.trust.credentials import NoCredentials, read_token
from emulator.trust.refusals import Refusals
from emulator.trust.tickets import key_of
from services.credential_options import add_connections, add_options, credentials_of
from services.endings import in_words
from services.self_telling import tell_of_self


@in_words
def main() -> int:
    """Run all trials, then serve until SIGTERM. The exit status is 0, or 2 for what the user has to mend."""
    parser = argparse.ArgumentParser(description="The coordinator of a run whose hosts are pods")
    parser.add_argument("--experiment", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="the run directory, made or taken up")
    parser.add_argument("--listen", type=for_grpc, default=os.environ.get("TRELLIS_LISTEN") or any_port())
    parser.add_argument("--metrics", help="address:port to serve Prometheus at")
    add_options(parser)
    add_connections(parser)
    parser.add_argument("--churn-token", type=Path, help="file with what the churn controller shows")
    parser.add_argument("--ticket-key", type=Path, help="file with the key that writes tickets")
    arguments = parser.parse_args()
    told_to_go = Event()
    signal.signal(signal.SIGTERM, lambda number, frame: _go(told_to_go))
    try:
        tell_of_self("coordinator")
        _serve(arguments, told_to_go)
    except (ExperimentError, NoCredentials, NoRun, OtherPlan, DamagedFile, BadAddress) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
    return 0


def _serve(arguments: argparse.Namespace, told_to_go: Event) -> None:
    trust = _trust(arguments)
    spec = load(arguments.experiment)
    run = take_up(arguments.run, spec, arguments.experiment)
    with contextlib.ExitStack() as stack:
        pods = stack.enter_context(serving_pods(arguments.listen, spec.name, trust))
        release = os.environ.get("TRELLIS_RELEASE", spec.name)
        if arguments.metrics:
            live = LiveCollector(release, lambda: read_live(pods.now, unix_ns()))
            calls = RequestCollector(release, pods.requests)
            own = ProcessMetrics(release, "coordinator")
            scrapes = Refusals()
            refused = RefusalMetrics(release, "coordinator", [pods.refusals, scrapes])
            stack.enter_context(serve(arguments.metrics, [live, calls, own, refused], scrapes))
        events = stack.enter_context(contextlib.closing(own_events(release)))
        pauses = TrialPauses(say=_tell)
        for trial in trials(spec):
            _run(trial, run, pods, events, pauses)
        pods.close()
        _tell("all trials have ended")
        pauses.over()
        told_to_go.wait()


def _trust(arguments: argparse.Namespace) -> Trust:
    """Return the secrets of the release. Raises NoCredentials."""
    churn, key = arguments.churn_token, arguments.ticket_key
    return Trust(
        credentials_of(arguments, arguments.connections),
        read_token(churn) if churn is not None else "",
        key_of(read_token(key), os.environ.get("TRELLIS_RELEASE", "")) if key is not None else "",
        arguments.run / ".speakers",
    )


def _go(told_to_go: Event) -> None:
    told_to_go.set()
    raise KeyboardInterrupt


def _run(trial: Trial, run: RunDirectory, pods: PodFleet, events: TrialEvents, pauses: TrialPauses) -> None:
    directory = run.trial(trial.name)
    if directory.read_status().get("state") in (*FINISHED, "failed"):
        return
    pauses.await_turn(trial.name)
    _tell(f"{trial.name} begins")
    events.begin(trial.name)
    fields = about(trial, os.environ.get("TRELLIS_COMMAND", "")) | {"image": own_image()}
    prepare(directory, fields)
    try:
        fidelity = run_trial(trial.spec, directory, partial(events.watch, trial.name), fields, pods.run)
    except Exception as error:
        _tell(f"{trial.name} failed: {describe(error)}")
        events.fail(trial.name, describe(error))
        return
    print(f"{trial.name} is {'valid' if fidelity.valid else 'INVALID'}", *fidelity.reasons, sep="\n  ")
    events.end(trial.name, fidelity.reasons)


def _tell(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
