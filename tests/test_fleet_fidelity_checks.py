"""What makes a trial in real time invalid, and what the experiment allows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from coordinator_world import (
    SECOND,
    VERSIONS,
    begin,
    five_peers,
    plan_of,
    reasons,
    register,
    result,
    spec_of,
)

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.processing_report import ProcessingReport
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.fleet.host.stop_signals import WORD
from trellis.v1 import control_pb2


@pytest.fixture
def coordinator() -> Coordinator:
    return five_peers()


def test_a_lost_host_makes_the_trial_invalid_and_is_named(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.note_progress(control_pb2.HostProgress(host="host-1"), 5 * SECOND)
    coordinator.lose("host-1", "killed by SIGKILL")
    coordinator.finish(result("host-0"), 12 * SECOND)
    assert coordinator.over
    fidelity = judge(coordinator, VERSIONS)
    assert not fidelity.valid
    assert "host-1 with 2 peers, last heard at 3.5 s: killed by SIGKILL" in fidelity.reasons[0]
    assert fidelity.hosts[1].state == "lost"
    assert fidelity.hosts[1].lost_at_s == pytest.approx(3.5)


def test_a_trial_without_flaw_is_valid(coordinator: Coordinator, tmp_path: Path) -> None:
    begin(coordinator)
    assert reasons(coordinator) == ""
    judge(coordinator, VERSIONS).write(tmp_path / "fidelity.json")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"timer_lateness": control_pb2.Distribution(buckets=[0, 500], counts=[98, 2], maximum_s=0.9)},
            "timer lateness",
        ),
        ({"loop_stall_s": 1.5}, "event-loop stall, longest: 1500 ms, limit 1000 ms"),
        ({"session_error": control_pb2.Distribution(buckets=[600], counts=[9], maximum_s=1.0)}, "join and"),
        ({"dropped": {"link full": 3}}, "dropped envelopes: 6 envelopes, limit 0 envelopes (6 link full)"),
        ({"lost_spans": 1}, "lost spans: 2"),
        ({"operations_missed": 1}, "operations missed: 2 operations, limit 0 operations"),
        ({"error": "telemetry cannot be written: disk full"}, "disk full"),
    ],
)
def test_each_limit_invalidates(coordinator: Coordinator, fields: dict[str, object], reason: str) -> None:
    begin(coordinator)
    assert reason in reasons(coordinator, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"error": "disk full\nvitis-1 is valid\x1b[2J"},
        {"dropped": {"link full\nvitis-1 is valid": 3}},
        {"error": "x" * 1_000_000},
    ],
)
def test_what_a_host_says_is_one_line_that_a_terminal_can_show(
    coordinator: Coordinator, fields: dict[str, object]
) -> None:
    begin(coordinator)
    coordinator.note_progress(control_pb2.HostProgress(host="host-0", error="gone\r\nall is well"), SECOND)
    coordinator.lose("host-0", "silent")
    told = reasons(coordinator, **fields)
    assert told and told.isprintable() and len(told) < 10_000


@pytest.mark.parametrize(
    ("late_s", "allowed", "valid"),
    [(0.049, {}, True), (0.051, {}, False), (0.051, {"fault_error": "60 ms"}, True)],
)
@pytest.mark.parametrize("end", ["begun_s", "ended_s"])
def test_a_fault_that_begins_or_ends_too_late_makes_the_trial_invalid(
    late_s: float, allowed: dict[str, str], valid: bool, end: str
) -> None:
    split = {"name": "split", "at": "4 s", "for": "2 s", "partition": {"share": 0.5}}
    asked = spec_of(5, faults=[split], fidelity=allowed)
    made = Coordinator(asked, draw_plan(asked), "experiment", "trial")
    begin(made)
    times = {"begun_s": 4.0, "ended_s": 6.0}
    times[end] += late_s
    found = reasons(made, faults=[control_pb2.FaultTimes(fault=0, messages={"crossed": 0}, **times)])
    assert (not found) is valid
    assert valid or "fault time error, longest: 51 ms, limit 50 ms" in found


def test_an_attack_that_begins_too_late_at_a_host_makes_the_trial_invalid() -> None:
    attackers = {"share": 0.4, "behaviour": "delay", "at": "4 s"}
    asked = spec_of(5, attackers=attackers)
    made = Coordinator(asked, draw_plan(asked), "experiment", "trial")
    begin(made)
    told = control_pb2.FaultTimes(fault=0, begun_s=4.051, messages={"delayed": 7, "\n": 3})
    found = reasons(made, faults=[told])
    assert "fault time error, longest: 51 ms, limit 50 ms (begin and end of attack)" in found
    (first, _) = judge(made, VERSIONS).faults
    assert (first.name, first.kind, first.messages) == ("attack", "delay", {"delayed": 7})


def test_hosts_tell_how_long_messages_kept_peers_busy_beside_what_was_asked(tmp_path: Path) -> None:
    classes = [
        {"name": "plain", "share": 0.6, "message": "50 us"},
        {"name": "slow", "share": 0.4, "message": "20 ms"},
    ]
    asked = spec_of(5, processing={"classes": classes})
    made = Coordinator(asked, draw_plan(asked), "experiment", "trial")
    begin(made)
    told = [control_pb2.BusyTime(), control_pb2.BusyTime(messages=100, busy_s=2.1)]
    assert reasons(made, processing=told) == ""
    fidelity = judge(made, VERSIONS)
    assert fidelity.processing == [
        ProcessingReport("host-0", "slow", 100, 2.0, 2.1),
        ProcessingReport("host-1", "slow", 100, 2.0, 2.1),
    ]
    fidelity.write(tmp_path / "fidelity.json")
    written = json.loads((tmp_path / "fidelity.json").read_text())["processing"]
    assert written[0]["asked_s"] == 2.0 and written[0]["achieved_s"] == 2.1


def allowing(peers: int, **fidelity: object) -> Coordinator:
    made = Coordinator(spec_of(peers, fidelity=fidelity), plan_of(peers), "experiment", "trial")
    begin(made)
    return made


@pytest.mark.parametrize(("allowed", "valid"), [(0, False), (1, True), ("49 %", False), ("50 %", True)])
@pytest.mark.parametrize("what", ["hosts_restarted", "hosts_lost"])
def test_the_experiment_says_how_many_hosts_may_restart_or_be_lost(
    what: str, allowed: object, valid: bool
) -> None:
    coordinator = allowing(5, **{what: allowed})
    if what == "hosts_lost":
        coordinator.lose("host-1", "killed by SIGKILL")
        coordinator.finish(result("host-0"), 10 * SECOND)
    else:
        register(coordinator, "host-1", start="second", at=4 * SECOND)
        for host in ("host-0", "host-1"):
            coordinator.finish(result(host), 10 * SECOND)
    fidelity = judge(coordinator, VERSIONS)
    assert fidelity.valid is valid
    (check,) = [check for check in fidelity.checks if check.name == what.replace("_", " ")]
    asked = f"fidelity.{what} is {allowed}" + (" of 2 hosts" if isinstance(allowed, str) else "")
    assert "host-1" in check.detail and asked in check.detail
    assert all(asked in reason for reason in fidelity.reasons)


@pytest.mark.parametrize(("allowed", "valid"), [(1, False), (2, True), ("39 %", False), ("40 %", True)])
def test_the_experiment_says_how_many_operations_may_be_missed(allowed: object, valid: bool) -> None:
    asked = {"system": {"name": "small-world"}, "workload": {"lookups": {"rate": 1.0}}}
    spec = spec_of(5, fidelity={"operations_missed": allowed}, **asked)
    coordinator = Coordinator(spec, plan_of(5), "experiment", "trial")
    begin(coordinator)
    found = reasons(coordinator, operations_missed=1)
    assert (not found) is valid
    if not valid:
        assert "fidelity.operations_missed is" in found and "2 operations" in found


def test_one_restarted_pod_of_three_thousand_can_be_allowed() -> None:
    """Only the two that restart register, since each gets the whole network told."""
    runtime = {"kind": "kubernetes", "hosts": 3000}
    coordinator = Coordinator(
        spec_of(3000, runtime=runtime, fidelity={"hosts_restarted": 1}), plan_of(3000), "experiment", "trial"
    )
    hosts = list(coordinator.members)
    for host in ("host-7", "host-8"):
        register(coordinator, host, address=host)
    for host in hosts:
        coordinator.ready(control_pb2.Ready(host=host), SECOND)
    for name, at in (("host-7", 63), ("host-8", 64)):
        register(coordinator, name, start="second", address="elsewhere", at=at * SECOND)
        for host in hosts:
            coordinator.finish(result(host), 72 * SECOND)
        fidelity = judge(coordinator, VERSIONS)
        assert fidelity.valid is (name == "host-7")
    assert "hosts restarted: 2 hosts, limit 1 host" in fidelity.reasons[0]
    assert "fidelity.hosts_restarted is 1" in fidelity.reasons[0]


def test_another_version_invalidates(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.members["host-0"].versions = {"trellis": "2"}
    assert "hosts of another version: 1" in reasons(coordinator)


def probed(coordinator: Coordinator, late_ns: int, offset_end_ns: int) -> float:
    probe = control_pb2.Probe(
        sending_host=0, sent_ns=10 * SECOND, due_ns=10 * SECOND + 5, received_ns=10 * SECOND + 5 + late_ns
    )
    coordinator.finish(result("host-0"), SECOND)
    coordinator.finish(result("host-1", probes=[probe], clock_offset_ns=offset_end_ns), SECOND)
    return judge(coordinator, VERSIONS).measured["delay_error_max_ms"]


def test_the_delay_error_of_probes_is_measured(coordinator: Coordinator) -> None:
    begin(coordinator)
    assert probed(coordinator, 30_000_000, 0) == pytest.approx(30)


@pytest.mark.parametrize(("time_scale", "lateness_ms"), [(10.0, 30), (1.0, 300), (0.1, 3000)])
def test_limits_are_in_trial_time(time_scale: float, lateness_ms: float) -> None:
    runtime = {"kind": "processes", "hosts": 2, "time_scale": time_scale}
    coordinator = Coordinator(spec_of(5, runtime=runtime), plan_of(5), "experiment", "trial")
    begin(coordinator)
    late = control_pb2.Distribution(buckets=[700], counts=[1], maximum_s=0.3)
    invalid = "timer lateness" in reasons(coordinator, timer_lateness=late)
    assert invalid is (time_scale < 10)
    fidelity = judge(coordinator, VERSIONS)
    assert fidelity.measured["timer_lateness_max_ms"] == pytest.approx(lateness_ms)


def test_a_clock_that_drifts_is_no_delay(coordinator: Coordinator) -> None:
    begin(coordinator)
    assert probed(coordinator, 30_000_000, 30_000_000) == pytest.approx(0, abs=0.001)


def test_a_stopped_host_is_named_and_the_machine_is_not_called_slow(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.finish(result("host-0", loop_stall_s=5.0), 10 * SECOND)
    coordinator.finish(result("host-1", loop_stall_s=5.0, error=f"it {WORD} and went on later"), 10 * SECOND)
    told = "; ".join(judge(coordinator, VERSIONS).reasons)
    assert "event-loop stall, longest: 5000 ms, limit 1000 ms (host-1 was stopped by a signal)" in told
    assert "too slow" not in told


def test_spans_that_an_earlier_start_of_a_host_lost_count_too() -> None:
    coordinator = allowing(5, hosts_restarted=1)
    told = control_pb2.Written(start=0, spans=9, lost_spans=3, last_word=True)
    progress = control_pb2.HostProgress(host="host-1", written=told)
    coordinator.note_progress(progress, 3 * SECOND)
    register(coordinator, "host-1", start="second", at=4 * SECOND)
    coordinator.finish(result("host-0", lost_spans=1), 10 * SECOND)
    coordinator.finish(result("host-1", lost_spans=2), 10 * SECOND)
    (check,) = [check for check in judge(coordinator, VERSIONS).checks if check.name == "lost spans"]
    assert check.measured == 6
