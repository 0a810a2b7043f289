"""A protocol on the virtual clock that writes down what happens to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from pydantic import BaseModel
from small_trial import Outcome, make_plan, run, trial_spec
from trellis.v1.pubsub_pb2 import EventData, Notification, Pull

from emulator.experiment.spec import TrialSpec
from emulator.protocol import Contact, Environment, Event, Handler, Interest, PubSub
from emulator.registry import SYSTEMS, System
from emulator.telemetry import names

LATENCY = 0.050


class Diary(PubSub):
    """A protocol that writes down what happens to it; tests replace its parts."""

    lives: list[Diary]
    on_start: Callable[[Diary], None]
    on_message: Callable[[Diary, int, Any], None]
    on_publish: Callable[[Diary, Event], None]

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.peer = environment.self_contact.peer
        self.contacts: list[int] = []
        self.received: list[tuple[float, int, Message]] = []
        self.unreachable: list[tuple[float, int]] = []
        self.ticks: list[float] = []
        self.stopped: list[bool] = []
        self.interests: list[tuple[str, float, Interest]] = []
        type(self).lives.append(self)

    def handlers(self) -> dict[type[Message], Handler]:
        return dict.fromkeys((Notification, Pull, EventData), self._receive)

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self.contacts = [contact.peer for contact in bootstrap]
        type(self).on_start(self)

    def stop(self, graceful: bool) -> None:
        self.stopped.append(graceful)

    def on_unreachable(self, peer: int) -> None:
        self.unreachable.append((self.environment.now, peer))

    def subscribe(self, interest: Interest) -> None:
        self.interests.append(("subscribe", self.environment.now, interest))

    def unsubscribe(self, interest: Interest) -> None:
        self.interests.append(("unsubscribe", self.environment.now, interest))

    def publish(self, event: Event) -> None:
        type(self).on_publish(self, event)

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {}

    def tick(self) -> None:
        self.ticks.append(self.environment.now)

    def _receive(self, sender: int, message: Any) -> None:
        self.received.append((self.environment.now, sender, message))
        type(self).on_message(self, sender, message)


def diary_system(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    """A protocol class for one test, registered as the system `diary`."""

    class Parameters(BaseModel):
        pass

    class OneDiary(Diary):
        lives: list[Diary] = []  # noqa: RUF012
        on_start = staticmethod(lambda peer: None)
        on_message = staticmethod(lambda peer, sender, message: None)
        on_publish = staticmethod(lambda peer, event: None)

    system = System("diary", "", "", Parameters, lambda environment, parameters: OneDiary(environment))
    monkeypatch.setitem(SYSTEMS, "diary", system)
    return OneDiary


def both_up(end: float) -> list[tuple[int, float, float]]:
    return [(0, 0.0, end), (1, 0.0, end)]


def diary_spec(peers: int = 2, end: float = 10.0, **fields: Any) -> TrialSpec:
    return trial_spec("diary", peers, end, **fields)


def publish_once(diary: type[Diary], tmp_path: Path, end: float = 10.0, **fields: Any) -> Outcome:
    """Peer 0 publishes event 0 on topic 7 at 4 s; peer 1 is subscribed to it."""
    plan = make_plan(2, both_up(end), [(1, 7, 0.0, end)], [(4.0, 0, 7)])
    return run(diary_spec(end=end, **fields), plan, tmp_path)


def hops(outcome: Outcome) -> list[tuple[str, float, float, int]]:
    """(message, sent, handled, depth) in order of depth."""
    found = [
        (span.name, round(span.start, 6), round(span.end, 6), span.attributes[names.DEPTH])
        for span in outcome.spans
        if names.DEPTH in span.attributes
    ]
    return sorted(found, key=lambda hop: hop[3])
