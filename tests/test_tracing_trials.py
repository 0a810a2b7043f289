"""The trace of a trial, told by coordinator and hosts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from coordinator_world import five_peers, plan_of, register, spec_of
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from otlp_receiver import Receiver, receiving, traced, values
from small_trial import trial_spec

from emulator.experiment.run.directory import RunDirectory, TrialDirectory
from emulator.fleet.coordinator import trial_spans as module
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.trial_spans import trial_spans
from emulator.fleet.host.assignment import without_plan
from emulator.telemetry.otlp_files import read_records
from emulator.tracing import spans
from emulator.trials.trial import run_trial
from trellis.v1 import control_pb2

SECOND = 10**9


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def parts(
    monkeypatch: pytest.MonkeyPatch, coordinator: Coordinator, began: int, times: list[int]
) -> dict[str, tuple[int, int]]:
    """Return the parts that are told if the conductor looks at these times, the last of which is its end."""
    found: dict[str, tuple[int, int]] = {}
    clock = itertools.chain([began], [times[-1]])
    monkeypatch.setattr(module, "unix_ns", lambda: next(clock))
    monkeypatch.setattr(
        spans, "record", lambda name, start, end, parent="": found.update({name: (start, end)})
    )
    with trial_spans(coordinator) as watch:
        for now in times[:-1]:
            watch(now)
    return found


def test_the_coordinator_tells_each_phase_with_the_times_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    coordinator = five_peers()
    coordinator.start_ns = 20 * SECOND
    told = parts(
        monkeypatch, coordinator, 5 * SECOND, [19 * SECOND, *range(20 * SECOND, 33 * SECOND, SECOND)]
    )
    assert told == {
        "await hosts": (5 * SECOND, 19 * SECOND),
        "start": (19 * SECOND, 20 * SECOND),
        "phase join": (20 * SECOND, 22 * SECOND),
        "phase settle": (22 * SECOND, 24 * SECOND),
        "phase measure": (24 * SECOND, 28 * SECOND),
        "phase drain": (28 * SECOND, 30 * SECOND),
        "collect": (30 * SECOND, 32 * SECOND),
    }


def test_a_trial_that_never_starts_has_waited_for_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    told = parts(monkeypatch, five_peers(), 5 * SECOND, [6 * SECOND, 9 * SECOND])
    assert told == {"await hosts": (5 * SECOND, 9 * SECOND)}


def test_a_trial_that_ends_early_ends_in_the_phase_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    coordinator = five_peers()
    coordinator.start_ns = 20 * SECOND
    told = parts(monkeypatch, coordinator, 5 * SECOND, [19 * SECOND, 23 * SECOND])
    assert list(told) == ["await hosts", "start", "phase join", "phase settle"]
    assert told["phase settle"] == (22 * SECOND, 23 * SECOND)


def test_a_coordinator_that_takes_a_trial_up_tells_what_was_not_over(monkeypatch: pytest.MonkeyPatch) -> None:
    coordinator = five_peers()
    coordinator.start_ns = 20 * SECOND
    told = parts(monkeypatch, coordinator, 23 * SECOND, [29 * SECOND, 31 * SECOND])
    assert list(told) == ["phase settle", "phase measure", "phase drain", "collect"]
    assert told["phase settle"] == (22 * SECOND, 24 * SECOND)


def test_hosts_and_churn_controller_get_the_trace_with_the_plan(receiver: Receiver) -> None:
    with traced(receiver), spans.root("trial") as told:
        coordinator = Coordinator(spec_of(5), plan_of(5), "experiment", "trial")
        assignment = register(coordinator, "host-0")
        coordinator.start_ns = SECOND
    assert told.traceparent
    assert without_plan(assignment).trace == coordinator.churn_plan().trace == told.traceparent


def test_nothing_is_added_to_the_plan_if_nothing_is_traced() -> None:
    assignment = register(five_peers(), "host-0")
    assert not assignment.trace
    assert control_pb2.Assignment(trace="").SerializeToString() == b""


def small(**fields: Any) -> Any:
    return trial_spec("vitis", 12, 4.0, **fields)


def trial(folder: Path) -> TrialDirectory:
    directory = RunDirectory(folder / "example").trial("vitis-1")
    directory.path.mkdir(parents=True)
    return directory


def test_a_traced_trial_on_the_virtual_clock_has_the_same_telemetry(
    receiver: Receiver, tmp_path: Path
) -> None:
    plain, told = trial(tmp_path / "plain"), trial(tmp_path / "told")
    run_trial(small(), plain, lambda progress: None)
    with traced(receiver, "trial"):
        run_trial(small(), told, lambda progress: None)
    files = sorted(path.name for path in plain.telemetry.iterdir())
    assert files == sorted(path.name for path in told.telemetry.iterdir())
    for name in files:
        assert (plain.telemetry / name).read_bytes() == (told.telemetry / name).read_bytes()
    root = receiver.only("trial")
    assert told.read_status()["trace"].split("-")[1:3] == [root.trace_id.hex(), root.span_id.hex()]
    assert "trace" not in plain.read_status()
    for name in ("plan", "phase measure", "seal"):
        assert receiver.only(name).parent_span_id == root.span_id
    about = values(root.attributes)
    assert about["trellis.trial"] == "vitis-1"
    assert about["trellis.valid"] is (told.read_status()["state"] == "valid")


def test_a_trial_in_local_processes_is_one_trace_of_coordinator_and_hosts(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = trial(tmp_path)
    loose = {f"{name}_p99": "25 s" for name in ("timer_lateness", "delay_error", "session_error")}
    spec = small(
        phases={"join": "1 s", "settle": "0 s", "measure": "2 s", "drain": "0 s"},
        runtime={"kind": "processes", "hosts": 2},
        fidelity=loose | {"loop_stall": "25 s"},
    )
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
    with traced(receiver, "coordinator"):
        fidelity = run_trial(spec, directory, lambda progress: None)
    root = receiver.only("trial")
    told = receiver.told()
    assert {span.trace_id for _, span in told} == {root.trace_id}
    assert not root.parent_span_id
    spans_of: dict[str, set[str]] = {}
    for resource, span in told:
        spans_of.setdefault(str(resource["service.name"]), set()).add(span.name)
    assert spans_of["trellis-coordinator"] == {
        *("trial", "plan", "await hosts", "hand out plan", "start"),
        *("phase join", "phase measure", "collect", "judge", "seal"),
    }
    assert spans_of["trellis-host"] == {
        *("register", "take part", "measure clock", "await start", "measure round trips"),
        *("run peers", "close telemetry", "finish"),
    }
    hosts = {r["service.instance.id"] for r, _ in told if r["service.name"] == "trellis-host"}
    assert hosts == {"host-0", "host-1"}
    for name in ("register", "take part", "hand out plan"):
        assert [span.parent_span_id for span in receiver.named(name)] == [root.span_id] * 2
    known = {span.span_id for _, span in told}
    assert all(not span.parent_span_id or span.parent_span_id in known for _, span in told)
    failed = root.status.code == Status.STATUS_CODE_ERROR
    assert failed is (not fidelity.valid), fidelity.reasons
    for file in directory.telemetry.iterdir():
        assert not any(b"trellis-host" in record for record in read_records(file))
