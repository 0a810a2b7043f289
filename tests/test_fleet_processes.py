"""Trials in real processes on the loopback, and what goes wrong with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fleet_toys import PATH
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.fleet.processes import run_processes
from emulator.runtime.progress import Progress
from emulator.telemetry.otlp_files import read_records
from emulator.telemetry.recorder import Recorder

PEERS = 24


def spec_of(measure: str = "10 s", graceful: float = 0.0, **parameters: float) -> TrialSpec:
    """Return a trial of about 4 wall seconds."""
    return TrialSpec.model_validate(
        {
            "system": {"name": "flood", "parameters": parameters},
            "peers": PEERS,
            "network": {"unreachable_after": "1 s"},
            "workload": {
                "subscriptions": {"kind": "random", "topics": 20, "per_peer": 5, "buckets": 1},
                "publications": {"events": 20},
            },
            "phases": {"join": "2 s", "settle": "2 s", "measure": measure, "drain": "4 s"},
            "runtime": {"kind": "processes", "hosts": 2, "time_scale": 0.2},
            # The tests' machine may be busy, and what is tested here is not its speed.
            "fidelity": {
                "timer_lateness_p99": "25 s",
                "delay_error_p99": "25 s",
                "session_error_p99": "25 s",
                "loop_stall": "25 s",
            },
        }
    )


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", PATH)


def run(directory: Path, spec: TrialSpec, report: Callable[[Progress], None] = lambda _: None) -> Fidelity:
    trial = TrialDirectory(directory)
    return run_processes(spec, draw_plan(spec), trial, report)


def spans_in(directory: Path) -> dict[str, list[Span]]:
    """Return the spans by host."""
    found: dict[str, list[Span]] = {}
    for file in sorted((directory / "telemetry").glob("*-traces-*.otlp")):
        for record in read_records(file):
            for resource_spans in TracesData.FromString(record).resource_spans:
                for scope in resource_spans.scope_spans:
                    found.setdefault(file.name.split("-traces")[0], []).extend(scope.spans)
    return found


def states_in(directory: Path, host: str, metric: str) -> list[float]:
    (file,) = (directory / "telemetry").glob(f"{host}-metrics-*.otlp")
    return [
        point.as_double
        for record in read_records(file)
        for resource_metrics in MetricsData.FromString(record).resource_metrics
        for scope in resource_metrics.scope_metrics
        for found in scope.metrics
        if found.name == metric
        for point in found.gauge.data_points
    ]


def hosts_of(parent: int) -> list[psutil.Process]:
    """Return the hosts that run now; other children may end while they are looked at."""
    hosts = []
    for process in psutil.Process(parent).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "services.peer" in process.cmdline():
                hosts.append(process)
    return hosts


@pytest.fixture(scope="module")
def static_trial(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Fidelity, list[Progress]]:
    directory = tmp_path_factory.mktemp("static")
    progress: list[Progress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", PATH)
        fidelity = run(directory, spec_of(), progress.append)
    return directory, fidelity, progress


StaticTrial = tuple[Path, Fidelity, list[Progress]]


def test_a_static_trial_is_valid_and_its_fidelity_is_written(static_trial: StaticTrial) -> None:
    directory, fidelity, _ = static_trial
    assert fidelity.reasons == []
    assert fidelity.measured["probes"] > 20
    assert fidelity.measured["messages_between_hosts"] > 100
    assert [(host.host, host.peers, host.state) for host in fidelity.hosts] == [
        ("host-0", PEERS // 2, "finished"),
        ("host-1", PEERS // 2, "finished"),
    ]
    # Of one clock: what is found is half the difference of a busy machine's ways there and back.
    assert all(abs(host.clock_offset_start_ns) < 500_000_000 for host in fidelity.hosts)
    assert json.loads((directory / "fidelity.json").read_text())["valid"] is True


def test_hosts_tell_exactly_what_they_wrote(static_trial: StaticTrial) -> None:
    directory, fidelity, _ = static_trial
    told = {written.host: written for written in fidelity.written}
    assert {host: len(spans) for host, spans in spans_in(directory).items()} == {
        host: written.spans for host, written in told.items()
    }
    assert all(written.last_word and written.points > 0 for written in told.values())


def test_every_subscriber_is_reached_exactly_once(static_trial: StaticTrial) -> None:
    directory, _, _ = static_trial
    plan = draw_plan(spec_of())
    subscribers: dict[int, set[int]] = {}
    for row in plan.subscriptions.to_pylist():
        subscribers.setdefault(row["topic"], set()).add(row["peer"])
    expected = {
        (row["event"], peer)
        for row in plan.publications.to_pylist()
        for peer in subscribers[row["topic"]] - {row["publisher"]}
    }
    marks = [
        {a.key: a.value for a in span.attributes} for spans in spans_in(directory).values() for span in spans
    ]
    delivered = [
        (at["trellis.event"].int_value, at["trellis.peer"].int_value)
        for at in marks
        if "trellis.delivered" in at
    ]
    assert sorted(delivered) == sorted(expected)


def test_traces_cross_hosts_and_every_parent_is_known(static_trial: StaticTrial) -> None:
    by_host = spans_in(static_trial[0])
    assert sorted(by_host) == ["host-0", "host-1"]
    traces = [{span.trace_id for span in spans if span.name == "EventData"} for spans in by_host.values()]
    assert traces[0] & traces[1]
    everything = [span for spans in by_host.values() for span in spans]
    known = {span.span_id for span in everything}
    assert len(known) == len(everything)
    assert all(span.parent_span_id in known for span in everything if span.parent_span_id)


def test_traces_have_ids_of_the_trial_and_not_of_its_seed(static_trial: StaticTrial, tmp_path: Path) -> None:
    (spans, *_) = spans_in(static_trial[0]).values()
    about = {"experiment": "e", "trial": "t", "seed": spec_of().seed, "start_unix_ns": 0}
    of_seed = Recorder(tmp_path, "host-0", **about).begin().trace_id
    assert of_seed[:8] not in {span.trace_id[:8] for span in spans}


def test_progress_is_told_through_all_phases(static_trial: StaticTrial) -> None:
    _, _, progress = static_trial
    assert {p.phase for p in progress} >= {"join", "measure", "drain"}
    assert max(p.peers_up for p in progress) == PEERS
    assert max(p.asked for p in progress) == 20


def kill_after_first_points(pids: list[int]) -> Callable[[Progress], None]:
    """Kill a host in the measure phase, once it must have told of what it wrote after 5 s."""

    def report(progress: Progress) -> None:
        if progress.trial_time > 10 and not pids:
            victim = next(p for p in hosts_of(os.getpid()) if "host-1" in p.cmdline())
            pids.append(victim.pid)
            victim.send_signal(signal.SIGKILL)

    return report


def test_a_killed_host_invalidates_and_the_others_go_on_to_the_end(tmp_path: Path) -> None:
    killed: list[int] = []
    progress: list[Progress] = []
    kill = kill_after_first_points(killed)

    def report(snapshot: Progress) -> None:
        progress.append(snapshot)
        kill(snapshot)

    fidelity = run(tmp_path, spec_of(measure="20 s"), report)
    assert not fidelity.valid
    assert any("host-1 with 12 peers" in reason and "SIGKILL" in reason for reason in fidelity.reasons)
    lost = fidelity.hosts[1]
    assert lost.state == "lost"
    assert lost.lost_at_s is not None
    assert 0 < lost.lost_at_s < 20
    assert fidelity.hosts[0].state == "finished"
    assert progress[-1].trial_time > 24
    end = max(span.end_time_unix_nano for span in spans_in(tmp_path)["host-0"])
    start = min(span.start_time_unix_nano for span in spans_in(tmp_path)["host-0"])
    assert end - start > 10e9
    assert max(states_in(tmp_path, "host-0", "trellis.state.unreachable")) > 0
    whole, killed_one = fidelity.written
    assert whole.last_word and len(spans_in(tmp_path)["host-0"]) == whole.spans
    assert not killed_one.last_word and killed_one.points > 0
    assert len(spans_in(tmp_path).get("host-1", [])) >= killed_one.spans
    (lost_spans,) = (check for check in fidelity.checks if check.name == "lost spans")
    assert lost_spans.said == "at least 0 spans, told by 1 of 2 starts of hosts"


def test_an_overloaded_machine_invalidates_with_timer_lateness(tmp_path: Path) -> None:
    spec = spec_of(period=0.5, block=0.02)
    limits = spec.fidelity.model_copy(update={"timer_lateness_p99": 0.5})
    fidelity = run(tmp_path, spec.model_copy(update={"fidelity": limits}))
    assert not fidelity.valid
    assert any(reason.startswith("timer lateness, 99th percentile") for reason in fidelity.reasons)


def test_an_error_in_a_protocol_invalidates_and_is_named(tmp_path: Path) -> None:
    fidelity = run(tmp_path, spec_of(fail_at=5.0))
    assert any("this toy breaks by intention" in reason for reason in fidelity.reasons)
    assert "RuntimeError" in (tmp_path / "hosts" / "host-0.log").read_text()


def test_telemetry_that_cannot_be_written_invalidates_with_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRELLIS_TOY_FILE_LIMIT", "4000")
    fidelity = run(tmp_path, spec_of(measure="20 s"))
    assert not fidelity.valid
    assert any("telemetry cannot be written" in reason for reason in fidelity.reasons)


def test_telemetry_that_cannot_be_begun_ends_the_trial_at_once(tmp_path: Path) -> None:
    (tmp_path / "telemetry").write_text("in the way")
    began = time.monotonic()
    fidelity = run(tmp_path, spec_of(measure="600 s"))
    assert time.monotonic() - began < 60
    assert any("telemetry cannot be written" in reason for reason in fidelity.reasons)
    assert any(reason.startswith("trial ended early") for reason in fidelity.reasons)


def test_a_host_that_cannot_start_ends_the_trial_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRELLIS_TOY_BROKEN", "1")
    fidelity = run(tmp_path, spec_of())
    assert any("this toy cannot be imported by intention" in reason for reason in fidelity.reasons)


def test_a_system_that_the_hosts_do_not_have_ends_the_trial_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH")
    fidelity = run(tmp_path, spec_of())
    assert any("'flood'" in reason for reason in fidelity.reasons)


def launch(directory: Path) -> tuple[subprocess.Popen[bytes], list[psutil.Process]]:
    """Launch a process that runs a long trial, and return it with its hosts once peers are up."""
    program = (
        "import sys, test_fleet_processes as t, pathlib\n"
        "report = lambda progress: print(progress.peers_up, flush=True)\n"
        "t.run(pathlib.Path(sys.argv[1]), t.spec_of(measure='600 s'), report)"
    )
    runner = subprocess.Popen([sys.executable, "-c", program, str(directory)], stdout=subprocess.PIPE)
    assert runner.stdout is not None
    watchdog = threading.Timer(60, runner.kill)
    watchdog.start()
    for line in runner.stdout:
        if int(line) > 0:
            break
    watchdog.cancel()
    return runner, hosts_of(runner.pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_however_the_parent_ends(tmp_path: Path, number: signal.Signals) -> None:
    runner, hosts = launch(tmp_path)
    try:
        assert len(hosts) == 2
        runner.send_signal(number)
        assert runner.wait(60) != 0
        _, alive = psutil.wait_procs(hosts, timeout=30)
        assert alive == []
    finally:
        for process in hosts:
            if process.is_running():
                process.kill()
        runner.kill()
        runner.wait()
