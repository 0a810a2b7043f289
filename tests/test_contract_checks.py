"""What breaks the contract between a protocol and the world is counted and named where a trial is checked."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from breaking_toy import Breaking, BreakingParameters, Way
from fake_environment import FakeEnvironment, Lockstep
from small_trial import Outcome, make_plan, run, trial_spec

from emulator.contract.protocol import Event
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import SystemSpec
from emulator.messages.fingerprint import fingerprint
from emulator.runtime.breaches import CHECKED
from trellis.v1.overlay import NewscastExchange, Profile
from trellis.v1.pubsub import EventData


def trial(way: Way, path: Path, check: bool = True) -> Outcome:
    peers = range(3)
    plan = make_plan(
        3,
        [(peer, 0.0, 20.0) for peer in peers],
        [(peer, 1, 0.0, 20.0) for peer in peers],
        [(5.0, 0, 1), (6.0, 0, 1)],
    )
    spec = trial_spec("breaking", 3, 20.0, runtime={"kind": "virtual", "check": check})
    system = SystemSpec(name="breaking", parameters={"way": way})
    return run(spec.model_copy(update={"system": system}), plan, path)


def test_a_protocol_that_keeps_the_contract_is_valid_and_told_so(tmp_path: Path) -> None:
    fidelity = trial("", tmp_path).fidelity
    (check,) = [each for each in fidelity.checks if each.name == "contract of a protocol broken"]
    assert fidelity.valid and check.measured == 0


@pytest.mark.parametrize(
    ("way", "times", "reason"),
    [
        (
            "message",
            4,
            "breaking changed a message EventData after it was sent, first from peer 0, sent",
        ),
        (
            "part",
            2,
            "breaking changed a message NewscastExchange after it was sent, first from peer 0",
        ),
    ],
)
def test_what_breaks_the_contract_makes_the_trial_invalid_and_is_named(
    way: Way, times: int, reason: str, tmp_path: Path
) -> None:
    fidelity = trial(way, tmp_path).fidelity
    assert not fidelity.valid
    (told,) = fidelity.reasons
    assert told.startswith(f"contract of a protocol broken: {times} times, limit 0 times")
    assert reason in told


@pytest.mark.parametrize("way", ["part"])
def test_nobody_looks_where_no_check_is_asked_for(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CHECKED)
    fidelity = trial(way, tmp_path, check=False).fidelity
    assert fidelity.valid
    assert not any("contract" in check.name for check in fidelity.checks)


def test_checks_change_nothing_of_what_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = trial("part", tmp_path / "a").files()
    monkeypatch.delenv(CHECKED)
    assert trial("part", tmp_path / "b", check=False).files() == checked


@pytest.mark.parametrize(("way", "delay"), [("delay", "-4.0"), ("time-out", "-0.5")])
def test_a_negative_delay_is_refused_with_who_set_it(way: Way, delay: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"Breaking of peer 0 set a timer or a time-out of {delay} s"):
        trial(way, tmp_path)


def test_a_negative_delay_is_counted_as_none_where_nobody_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The virtual clock never goes back."""
    monkeypatch.delenv(CHECKED)
    outcome = trial("delay", tmp_path, check=False)
    starts = [span.start for span in outcome.spans if span.name == "publish"]
    assert starts == [5.0, 6.0]
    assert "contract of a protocol broken: 2 times" in outcome.fidelity.reasons[0]
    world = FakeEnvironment()
    world.life.checked = False
    world.advance(3.0)
    peer = Breaking(world, BreakingParameters(way="delay"))
    peer.publish(Event(0, 0, 1))
    world.advance(0.0)
    assert peer.calls == [3.0]


def test_a_delay_that_is_no_number_and_a_period_of_0_are_always_refused() -> None:
    world = FakeEnvironment(peer=4)
    world.life.checked = False
    Breaking(world, BreakingParameters())
    with pytest.raises(ValueError, match="Breaking of peer 4 set a timer or a time-out of nan s"):
        world.set_timer(math.nan, lambda: None)
    for period in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="Breaking of peer 4 asked for a call each"):
            world.every(period, lambda: None)


@pytest.mark.parametrize("way", ["message", "part"])
def test_the_world_of_tests_finds_a_message_that_was_changed(way: Way) -> None:
    together = Lockstep(lambda world: Breaking(world, BreakingParameters(way=way)), range(3))
    publisher = together.protocols[0]
    assert isinstance(publisher, Breaking)
    publisher.publish(Event(0, 0, 1))
    with pytest.raises(AssertionError, match="peer 0 changed a message after it had sent it"):
        together.exchange()


def test_a_fingerprint_is_that_of_all_fields_and_parts() -> None:
    profile = Profile(peer=1, topics=6, rate=math.nan)
    message = NewscastExchange(True, [profile])
    before = fingerprint(message)
    message.encode()
    assert fingerprint(message) == before == fingerprint(NewscastExchange(True, [profile]))
    profile.rate = 0.5
    assert fingerprint(message) != before
    assert fingerprint(EventData(1, payload=b"x")) != fingerprint(EventData(1, payload=b"y"))


def test_check_is_a_key_of_every_runtime(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(
        "name: x\nsystem: {name: vitis}\npeers: 20\n"
        "workload: {subscriptions: {kind: random, topics: 10, per_peer: 2, buckets: 1}}\n"
    )
    assert load(file, ["runtime.check=true"]).runtime.check
    assert load(file, ["runtime.kind=processes", "runtime.check=true"]).runtime.check
    assert not load(file).runtime.check
