"""The cluster is told of trials by events, and a trial neither waits for that nor fails by it."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any

import pytest

from emulator.fleet.pods.trial_events import TrialEvents, own_events
from emulator.runtime.progress import Progress


def progress(phase: str, time: float) -> Progress:
    return Progress(phase, time, 80.0, peers_up=5, asked=3, delivered=4, messages=9)


def told(created: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(event["type"], event["reason"], event["message"]) for event in created]


def test_a_trial_is_told_from_begin_to_verdict_and_each_phase_once() -> None:
    created: list[dict[str, Any]] = []
    with closing(TrialEvents("demo", "demo-coordinator-0", created.append)) as events:
        events.begin("vitis-1")
        for phase, time in (
            ("join", 0.0),
            ("join", 1.0),
            ("join", 2.0),
            ("measure", 30.0),
            ("measure", 31.0),
        ):
            events.watch("vitis-1", progress(phase, time))
        events.end("vitis-1", [])
        events.begin("vitis-2")
        events.watch("vitis-2", progress("measure", 30.0))
        events.end("vitis-2", ["2 hosts lost", "3 spans lost"])
        events.fail("vitis-3", "no space left")
    assert told(created) == [
        ("Normal", "TrialBegun", "vitis-1 begins"),
        ("Normal", "PhaseBegun", "vitis-1: join, 1 of 80 s, 5 peers up, 3 asked, 4 done"),
        ("Normal", "PhaseBegun", "vitis-1: measure, 30 of 80 s, 5 peers up, 3 asked, 4 done"),
        ("Normal", "TrialValid", "vitis-1 is valid"),
        ("Normal", "TrialBegun", "vitis-2 begins"),
        ("Normal", "PhaseBegun", "vitis-2: measure, 30 of 80 s, 5 peers up, 3 asked, 4 done"),
        ("Warning", "TrialInvalid", "vitis-2 is invalid: 2 hosts lost; 3 spans lost"),
        ("Warning", "TrialFailed", "vitis-3 failed: no space left"),
    ]
    assert {event["involvedObject"]["name"] for event in created} == {"demo-coordinator-0"}


def test_a_message_is_one_line_that_the_api_server_takes() -> None:
    created: list[dict[str, Any]] = []
    with closing(TrialEvents("demo", "demo-coordinator-0", created.append)) as events:
        events.fail("vitis-1", "a\nvitis-1 is valid" + "x" * 5000)
    (event,) = created
    assert len(event["message"]) <= 1024 and event["message"].isprintable()


def test_a_trial_goes_on_while_the_api_server_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    answer, created = threading.Event(), []

    def hang(event: dict[str, Any]) -> None:
        answer.wait(20)
        created.append(event)

    with closing(TrialEvents("demo", "demo-coordinator-0", hang)) as events:
        for number in range(300):
            events.begin(f"vitis-{number}")
        answer.set()
    assert 100 <= len(created) <= 102, "what waits is bounded"
    assert capsys.readouterr().err.count("events of trials are left out") == 1


def test_a_refusal_is_told_once_and_the_next_events_are_tried(capsys: pytest.CaptureFixture[str]) -> None:
    tried: list[str] = []

    def refuse(event: dict[str, Any]) -> None:
        tried.append(event["message"])
        raise OSError("403, may not create events")

    with closing(TrialEvents("demo", "demo-coordinator-0", refuse)) as events:
        events.begin("vitis-1")
        events.begin("vitis-2")
    assert tried == ["vitis-1 begins", "vitis-2 begins"]
    assert capsys.readouterr().err == (
        "events of trials are left out of the cluster: 403, may not create events\n"
    )


def test_outside_of_a_cluster_nobody_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with closing(own_events("demo")) as events:
        events.begin("vitis-1")
    assert capsys.readouterr() == ("", "")
