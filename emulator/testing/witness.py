"""A system that writes down what another one hands to its application, whatever runs it.

The system `witness` runs the system of its parameter `of` in environments that keep a ledger. The files of
the ledger are compared with what the telemetry says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from pydantic import BaseModel, ConfigDict

from emulator.contract.identifiers import IdentifierSpace
from emulator.contract.protocol import (
    Application,
    Completion,
    Component,
    Environment,
    Event,
    Installation,
    M,
    Message,
    Outcome,
    S,
    Timer,
)
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System


class Handed(NamedTuple):
    """An outcome that an application was handed, and where."""

    what: str
    """"event", "lookup", or the name of an operation that is complete."""
    number: int
    peer: int
    hops: int
    at: float
    """Seconds of trial time."""


class WitnessParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    of: str
    """The system that runs."""
    parameters: dict[str, Any] = {}
    ledger: Path
    """A folder, where each process writes a file."""


class WitnessEnvironment(Environment):
    """Passes all calls on, and writes down the outcomes."""

    def __init__(self, inner: Environment, ledger: TextIO) -> None:
        self.inner = inner
        self.ledger = ledger
        self.name = inner.name
        self.peer = inner.peer
        self.session = inner.session
        self.role = inner.role
        self.identifier = inner.identifier
        self.random = inner.random

    @property
    def now(self) -> float:
        return self.inner.now

    def channel(self, name: str) -> Environment:
        return WitnessEnvironment(self.inner.channel(name), self.ledger)

    def attach(self, component: Component) -> None:
        self.inner.attach(component)

    def handle(self, kind: type[M], handler: Callable[[int, M], None]) -> None:
        self.inner.handle(kind, handler)

    def serve(self, kind: type[M], answer: Callable[[int, M], Message | None]) -> None:
        self.inner.serve(kind, answer)

    def serve_later(self, kind: type[M], answer: Callable[[int, M, Callable[[Message], None]], None]) -> None:
        self.inner.serve_later(kind, answer)

    def record(self, name: str, value: float, subject: int | None = None, unit: str = "") -> None:
        self.inner.record(name, value, subject, unit)

    def send(self, peer: int, message: Message) -> None:
        self.inner.send(peer, message)

    def request(
        self,
        peer: int,
        message: Message,
        timeout: float,
        replied: Callable[[Message], None],
        failed: Callable[[], None],
    ) -> Timer:
        return self.inner.request(peer, message, timeout, replied, failed)

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        return self.inner.set_timer(delay, callback)

    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        return self.inner.every(period, callback)

    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        self.inner.find_contacts(callback)

    def deliver(self, outcome: Outcome) -> None:
        own = isinstance(outcome, Event) and outcome.publisher == self.peer
        if not own and not isinstance(outcome, Installation):
            what = "event" if isinstance(outcome, Event) else "lookup"
            if isinstance(outcome, Completion):
                what = outcome.operation
            handed = Handed(what, outcome.number, self.peer, outcome.hops, self.now)
            self.ledger.write(json.dumps(handed) + "\n")
        self.inner.deliver(outcome)

    def drop(self, kind: type[Message], reason: str) -> None:
        self.inner.drop(kind, reason)

    def take_identifier(self, identifier: int, space: IdentifierSpace) -> None:
        self.inner.take_identifier(identifier, space)

    def shared(self, make: Callable[..., S], *arguments: object) -> S:
        return self.inner.shared(make, *arguments)

    def report_gone(self, peer: int) -> None:
        self.inner.report_gone(peer)


_files: dict[Path, TextIO] = {}
"""The open ledgers of this process by folder; they are written line by line."""


def _create(environment: Environment, parameters: WitnessParameters) -> Application:
    if parameters.ledger not in _files:
        _files[parameters.ledger] = (parameters.ledger / f"{os.getpid()}.jsonl").open("w", buffering=1)
    system = SYSTEMS[parameters.of]
    inner = system.parameters.model_validate(parameters.parameters)
    return system.create(WitnessEnvironment(environment, _files[parameters.ledger]), inner)


def read_ledger(folder: Path) -> list[Handed]:
    """Return all that applications were handed, in any process."""
    return [
        Handed(*json.loads(line))
        for file in sorted(folder.iterdir())
        for line in file.read_text().splitlines()
    ]


WITNESS = System("witness", "A witness, for tests", "none", WitnessParameters, _create)
SYSTEMS["witness"] = WITNESS
