"""What a package's system does wrong: it is told with the system, the peer and the line of the package."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from lying_toy import Lying, LyingParameters
from pydantic import BaseModel
from small_trial import Outcome, make_plan, run, trial_spec

from emulator.contract.identifiers import Ring
from emulator.contract.protocol import Environment, Event
from emulator.contract.registry import SYSTEMS, _Entry
from emulator.contract.system import System
from emulator.experiment.file.spec import SystemSpec, TrialSpec
from emulator.experiment.plan.provenance import write_plan
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.messages.message import EVENT, Message
from emulator.network.build_network import build_network
from emulator.network.spec import NetworkSpec
from emulator.runtime.breaches import CHECKED
from emulator.runtime.virtual.event_loop import VirtualWorld
from emulator.telemetry.recorder import Recorder
from emulator.trials.trial import run_trial
from trellis.v1.pubsub import EventData


class FaultyParameters(BaseModel):
    fault: str = ""


class Small(Message):
    """A message of four bytes that says that it has one."""

    NAME: ClassVar[str] = "Small"

    def kind(self) -> int:
        return EVENT

    def measure(self) -> int:
        return 1

    def write_to(self, out: bytearray) -> None:
        out += b"four"


class Faulty(Lying):
    """Sends each event to all peers, and does one thing wrong."""

    def __init__(self, environment: Environment, parameters: FaultyParameters) -> None:
        super().__init__(environment, LyingParameters())
        environment.handle(Small, lambda sender, message: None)
        self.fault = parameters.fault
        self.mailbox = environment.shared(list[Event])

    def start(self, contacts: Any) -> None:
        if self.fault == "a mailbox":
            self.environment.every(0.1, self.read)

    def read(self) -> None:
        """Deliver what another peer has put into an object that all peers share."""
        for event in self.mailbox:
            if event.topic in self.topics and (0, event.number) not in self.sent:
                self.sent.add((0, event.number))
                self.deliver(replace(event, hops=1))

    def publish(self, event: Event) -> None:
        world = self.environment
        if self.fault == "a mailbox":
            world.set_timer(0.06, partial(self.mailbox.append, event))
            return
        if self.fault == "as another peer":
            data = EventData(event.number, event.topic or 0, event.publisher, 1)
            self.others[2].environment.send(1, data)
            return
        if self.fault == "fewer bytes":
            world.send(1, Small())
            return
        super().publish(event)
        if call := CALLS.get(self.fault):
            call(self)

    def again(self) -> None:
        self.environment.set_timer(0.0, self.again)

    def neighbours(self) -> Any:
        return {"x": [-1]} if self.fault == "a neighbour" else {}


CALLS: Mapping[str, Callable[[Faulty], object]] = {
    "no delay": lambda toy: toy.again(),
    "no outcome": lambda toy: toy.environment.deliver(None),  # type: ignore[arg-type]
    "an exit": lambda toy: sys.exit(0),
    "an identifier": lambda toy: toy.environment.take_identifier(-5, Ring(64)),
}
FAULTY = System("faulty", "A toy that does something wrong", "none", FaultyParameters, Faulty)


@pytest.fixture(autouse=True)
def _of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHECKED, raising=False)
    monkeypatch.setitem(SYSTEMS._entries, "faulty", _Entry(lambda: FAULTY, "faults 1.0"))


def trial_of(fault: str) -> tuple[TrialSpec, Plan]:
    plan = make_plan(
        4,
        [(peer, 0.0, 20.0) for peer in range(4)],
        [(peer, 1, 0.0, 20.0) for peer in (1, 2, 3)],
        [(5.0, 0, 1), (6.0, 0, 1)],
    )
    spec = trial_spec("faulty", 4, 20.0)
    return spec.model_copy(update={"system": SystemSpec(name="faulty", parameters={"fault": fault})}), plan


def outcome_of(fault: str, path: Path) -> Outcome:
    spec, plan = trial_of(fault)
    return run(spec, plan, path)


def test_what_messages_bring_is_valid(tmp_path: Path) -> None:
    outcome = outcome_of("", tmp_path)
    assert outcome.fidelity.valid and len(outcome.deliveries()) == 6


@pytest.mark.parametrize(("fault", "times"), [("a mailbox", 6), ("as another peer", 2)])
def test_a_delivery_that_no_message_can_have_brought_is_told(fault: str, times: int, tmp_path: Path) -> None:
    """It comes in time and with a hop, by an object that peers share, or from a peer that knows nothing."""
    (reason,) = outcome_of(fault, tmp_path).fidelity.reasons
    assert reason.startswith(
        f"impossible deliveries: {times} deliveries, limit 0 deliveries (faulty delivered"
    )
    assert "an event of which no message can have told the peer, first event 0 at peer" in reason


def test_a_message_that_is_larger_than_it_says_is_told(tmp_path: Path) -> None:
    (reason,) = outcome_of("fewer bytes", tmp_path).fidelity.reasons
    assert "faulty sent a message Small of 4 bytes that says that it has 1, first from peer 0" in reason


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("no outcome", "Error: "),
        ("an exit", "RuntimeError: it tried to end the process, by SystemExit(0)"),
        ("an identifier", "ValueError: Faulty of peer 0 took the identifier -5, but those of its space have"),
        (
            "a neighbour",
            "TypeError: the neighbours 'x' of Faulty of peer 0 are [-1], which are no",
        ),
    ],
)
def test_an_error_of_a_package_fails_its_trial_and_says_whose_it_is(
    fault: str, told: str, tmp_path: Path
) -> None:
    spec, plan = trial_of(fault)
    directory = TrialDirectory(tmp_path / "trials" / "faulty-1")
    directory.path.mkdir(parents=True)
    write_plan(plan, spec, directory.plan)
    with pytest.raises((TypeError, ValueError, AttributeError, RuntimeError)):
        run_trial(spec, directory, lambda progress: None)
    status = json.loads(directory.status.read_text())
    (reason,) = status["reasons"]
    assert status["state"] == "failed"
    assert told in reason and "in the system faulty" in reason


def test_a_clock_that_stands_still_ends_the_trial(tmp_path: Path) -> None:
    spec, plan = trial_of("no delay")
    recorder = Recorder(tmp_path, "virtual", experiment="e", trial="t", seed=1, start_unix_ns=0)
    world = VirtualWorld(spec, plan, build_network(NetworkSpec(), [0] * 4, 1), recorder)
    world.most_at_once = 1000
    with pytest.raises(RuntimeError, match="the clock stands still: a timer without a delay") as caught:
        world.run_until(20.0)
    recorder.close()
    (note,) = caught.value.__notes__
    assert note.startswith("in the system faulty at peer 0, at 5.000 s") and world.handled < 4000
