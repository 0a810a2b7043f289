"""A toy that makes one mistake in the way that it is told, for both runtimes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from emulator.contract.protocol import Environment, Event, Gauge, Interest, PubSub
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import EventData, Pull


class MistakenParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    way: str = ""


def endless(count: int) -> int:
    return endless(count + 1)


class Mistaken(PubSub):
    """Peer 0 asks peer 1 and says goodbye to it when it publishes; `way` says which call goes wrong."""

    GAUGES: ClassVar[dict[str, Gauge]] = {"known": Gauge(sampled=True)}

    def __init__(self, environment: Environment, parameters: MistakenParameters) -> None:
        super().__init__(environment)
        self.way = parameters.way
        self.err("made")
        environment.handle(EventData, "no function" if self.way == "handler" else self.on_event)  # type: ignore
        environment.handle(Goodbye, self.on_goodbye)
        environment.serve(Pull, self.on_pull)

    def err(self, here: str) -> None:
        if self.way == here:
            raise LookupError("a mistake")

    def start(self, contacts: Sequence[int]) -> None:
        self.err("start")

    def stop(self, graceful: bool) -> None:
        self.err("stop")

    def subscribe(self, interest: Interest) -> None:
        self.err("subscribe")

    def unsubscribe(self, interest: Interest) -> None:
        pass

    def publish(self, event: Event) -> None:
        self.err("publish")
        world: Any = self.environment
        world.request(1, Pull(1), 5.0, self.on_reply, lambda: None)
        world.send(1, Goodbye())
        world.set_timer(0.5, self.on_timer)
        ways: dict[str, Callable[[], Any]] = {
            "text sent": lambda: world.send(1, "text"),
            "text as peer": lambda: world.send("1", Goodbye()),
            "text as field": lambda: world.send(1, EventData("x")),  # type: ignore[arg-type]
            "exit": lambda: exec("raise SystemExit(3)"),
            "recursion": lambda: endless(0),
            "no timer": lambda: world.set_timer(0.5, self.on_timer()),
            "unit": lambda: world.record("seen", 1, unit=5),
            "units": lambda: [world.record("seen", 1, unit=unit) for unit in ("s", "ms")],
            "subject": lambda: world.record("seen", 1, subject=1.5),
            "value": lambda: world.record("seen", "5"),
        }
        ways.get(self.way, int)()

    def on_event(self, sender: int, message: EventData) -> None:
        pass

    def on_goodbye(self, sender: int, message: Goodbye) -> None:
        self.err("message")

    def on_pull(self, sender: int, message: Pull) -> Any:
        self.err("request")
        return "a text" if self.way == "text replied" else EventData(1)

    def on_reply(self, reply: Any) -> None:
        self.err("reply")

    def on_timer(self) -> None:
        self.err("timer")

    def gauges(self) -> Any:
        self.err("gauges")
        wrong = {
            "gauges as list": [1],
            "gauge of text": {"known": "5"},
            "gauge of None": {"known": None},
            "gauge too large": {"known": 10**400},
        }
        return wrong.get(self.way, {"known": math.nan})

    def neighbours(self) -> Any:
        return {"friend": ["x"]} if self.way == "neighbours" else {}


SYSTEMS["mistaken"] = System("mistaken", "A toy that makes mistakes", "none", MistakenParameters, Mistaken)
