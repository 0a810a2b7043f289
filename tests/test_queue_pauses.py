"""The coordinator of a release in a queue asks before each trial, and tells when none runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.fleet.pods.queue_order import OVER, PAUSING, RESTING, RUNNING, STATE, TRIALS
from emulator.fleet.pods.trial_pauses import TrialPauses


class Entry:
    """The entry of a release, whose states follow each other as the coordinator looks."""

    def __init__(self, *states: str) -> None:
        self.states = list(states)
        self.marks: list[str | None] = []

    def ask(self, entry: str, change: dict[str, Any] | None) -> Mapping[str, Any]:
        assert entry == "demo-queue"
        if change is None:
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            return {"metadata": {"annotations": {STATE: state}}}
        self.marks.append(change["metadata"]["annotations"][TRIALS])
        return {}


def pauses(entry: Entry, slept: list[float], said: list[str]) -> TrialPauses:
    return TrialPauses("demo-queue", entry.ask, slept.append, said.append)


def test_a_trial_begins_at_once_if_there_is_no_pause() -> None:
    entry, slept = Entry(RUNNING), list[float]()
    pauses(entry, slept, []).await_turn("vitis-1")
    assert (entry.marks, slept) == ([], [])


def test_a_trial_waits_while_the_release_is_pausing_and_that_is_marked() -> None:
    entry, slept, said = Entry(PAUSING, PAUSING, RUNNING), list[float](), list[str]()
    pauses(entry, slept, said).await_turn("vitis-2")
    assert entry.marks == [RESTING, RESTING, None]
    assert len(slept) == 2
    assert said == ["paused before vitis-2"]


def test_trials_go_on_if_the_api_server_is_away() -> None:
    def away(entry: str, change: dict[str, Any] | None) -> Mapping[str, Any]:
        raise OSError("no route")

    said: list[str] = []
    TrialPauses("demo-queue", away, say=said.append).await_turn("vitis-1")
    assert said == ["the queue does not say whether there is a pause: no route"]


def test_the_end_of_all_trials_is_marked() -> None:
    entry = Entry(RUNNING)
    pauses(entry, [], []).over()
    assert entry.marks == [OVER]


def test_without_a_queue_nothing_is_asked() -> None:
    entry = Entry(PAUSING)
    without = TrialPauses("", entry.ask)
    without.await_turn("vitis-1")
    without.over()
    assert entry.marks == []
