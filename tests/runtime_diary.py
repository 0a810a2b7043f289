"""A protocol on the virtual clock that writes down what happens to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from small_trial import Outcome, make_plan, run, trial_spec

from emulator.contract.protocol import Environment, Event, Interest, PubSub
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from emulator.experiment.file.spec import TrialSpec
from emulator.messages.message import Message
from emulator.telemetry import names
from trellis.v1.pubsub import EventData, Notification, Pull

LATENCY = 0.050


class Diary(PubSub):
    """A protocol that writes down what happens to it; tests replace its parts."""

    lives: list[Diary]
    on_start: Callable[[Diary], None]
    on_message: Callable[[Diary, int, Any], None]
    on_publish: Callable[[Diary, Event], None]
    on_gone: Callable[[Diary, int], None]

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.peer = environment.peer
        self.contacts: list[int] = []
        self.received: list[tuple[float, int, Message]] = []
        self.unreachable: list[tuple[float, int]] = []
        self.ticks: list[float] = []
        self.stopped: list[bool] = []
        self.interests: list[tuple[str, float, Interest]] = []
        type(self).lives.append(self)
        for kind in (Notification, Pull, EventData):
            environment.handle(kind, self._receive)

    def start(self, contacts: Sequence[int]) -> None:
        self.contacts = list(contacts)
        type(self).on_start(self)

    def stop(self, graceful: bool) -> None:
        self.stopped.append(graceful)

    def on_unreachable(self, peer: int) -> None:
        self.unreachable.append((self.environment.now, peer))
        type(self).on_gone(self, peer)

    def subscribe(self, interest: Interest) -> None:
        self.interests.append(("subscribe", self.environment.now, interest))

    def unsubscribe(self, interest: Interest) -> None:
        self.interests.append(("unsubscribe", self.environment.now, interest))

    def publish(self, event: Event) -> None:
        type(self).on_publish(self, event)

    def tick(self) -> None:
        self.ticks.append(self.environment.now)

    def _receive(self, sender: int, message: Any) -> None:
        self.received.append((self.environment.now, sender, message))
        type(self).on_message(self, sender, message)


def diary_system(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    """Register a protocol class for one test as the system `diary`."""

    class Parameters(BaseModel):
        pass

    class OneDiary(Diary):
        lives: list[Diary] = []  # noqa: RUF012
        on_start = staticmethod(lambda peer: None)
        on_message = staticmethod(lambda peer, sender, message: None)
        on_publish = staticmethod(lambda peer, event: None)
        on_gone = staticmethod(lambda peer, other: None)

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
    """Return (message, sent, handled, depth) of all hops in order of depth."""
    found = [
        (span.name, round(span.start, 6), round(span.end, 6), span.attributes[names.DEPTH])
        for span in outcome.spans
        if names.DEPTH in span.attributes
    ]
    return sorted(found, key=lambda hop: hop[3])
