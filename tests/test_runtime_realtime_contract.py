"""Observations, samples, late replies and checks of the contract over two hosts in real time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from breaking_toy import Way
from fleet_toys import PATH
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from small_trial import Outcome, make_plan, trial_spec
from talking_toy import BLOCK

from emulator.experiment.file.spec import SystemSpec
from emulator.experiment.run.directory import TrialDirectory
from emulator.fleet.processes import run_processes
from emulator.telemetry import names
from emulator.telemetry.otlp_files import read_records

END = 6.0


def trial(system: SystemSpec, path: Path, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """Return a trial of four peers at two hosts: 0 and 2, 1 and 3."""
    monkeypatch.setenv("PYTHONPATH", PATH)
    peers = range(4)
    plan = make_plan(
        4,
        [(peer, 0.5, END) for peer in peers],
        [(peer, 1, 0.5, END) for peer in peers],
        [(3.0, 0, 1), (4.0, 0, 1)],
    )
    limits = {"timer_lateness_p99": "10 s", "delay_error_p99": "10 s", "session_error_p99": "10 s"}
    spec = trial_spec(
        system.name,
        4,
        END,
        runtime={"kind": "processes", "hosts": 2, "check": True},
        telemetry={"metrics_interval": "1 s"},
        fidelity=limits | {"loop_stall": "10 s"},
    ).model_copy(update={"system": system})
    directory = TrialDirectory(path / "run" / "trials" / "toy-1")
    directory.path.mkdir(parents=True)
    return Outcome(directory, run_processes(spec, plan, directory, lambda progress: None))


def test_what_a_component_says_is_recorded_at_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = trial(SystemSpec(name="talking"), tmp_path, monkeypatch)
    assert outcome.fidelity.valid, outcome.fidelity.reasons
    spans = {span.span: span for span in outcome.spans}
    blocks = [span for span in outcome.spans if span.attributes.get(names.OBSERVED) == BLOCK]
    assert Counter(span.attributes[names.PEER] for span in blocks) == {1: 2, 2: 2, 3: 2}
    assert {spans[span.parent].name for span in blocks} == {"EventData"}
    replies = [span for span in outcome.spans if span.name == "Goodbye"]
    assert [spans[reply.parent].name for reply in replies] == ["LookupRequest"] * 2
    answered = [span for span in outcome.spans if span.attributes.get(names.OBSERVED) == "answered"]
    assert [span.attributes[names.SUBJECT] for span in answered] == [-2, -2]
    metrics = [
        (metric.name, metric.unit, len(metric.gauge.data_points))
        for path in outcome.directory.telemetry.glob("*-metrics-*.otlp")
        for record in read_records(path)
        for resource in MetricsData.FromString(record).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name.startswith(names.SAMPLE)
    ]
    assert {(name, unit) for name, unit, _ in metrics} == {
        ("trellis.sample.fill", "share"),
        ("trellis.sample.age", "s"),
    }
    assert sum(points for *_, points in metrics) >= 2 * 4 * 4  # both, of all, at four times at least


@pytest.mark.parametrize(("way", "times"), [("message", 4), ("part", 2)])
def test_a_host_finds_messages_that_were_changed_on_their_way(
    way: Way, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both those that stay at the host and those that go to another."""
    system = SystemSpec(name="breaking", parameters={"way": way})
    fidelity = trial(system, tmp_path, monkeypatch).fidelity
    (told,) = [reason for reason in fidelity.reasons if "contract" in reason]
    assert told.startswith(f"contract of a protocol broken: {times} times")
    assert "breaking changed a message" in told and "from peer 0, sent at" in told
