"""Attackers behave badly through the contract of protocols alone, as the experiment asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_trial
from fleet_toys import Flood, FloodParameters

from emulator.contract.attack import Attack, AttackerEnvironment, AttackModel, Sending
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.faults.attacks import BlackHole, Delay, Duplication, Garbage, Replay
from emulator.messages.message import Message
from emulator.runtime.attack_counts import AttackCounts
from emulator.runtime.hostile_channel import make_hostile
from emulator.telemetry import names
from emulator.testing.fake_environment import FakeLife
from trellis.v1.overlay import Contact, Goodbye, LookupRequest, Routed
from trellis.v1.pubsub import EventData

EVENT = EventData(event=7, topic=3, publisher=1, hops=0, payload=b"content")


class Victim:
    """A protocol's view of a hostile channel: it passes each event on to peer 9 and answers peer by peer."""

    def __init__(self, model: AttackModel, begins: float = 0.0, ends: float = 100.0) -> None:
        self.life = FakeLife(5, 0, 1)
        self.counts = AttackCounts()
        make_hostile(self.life, model, 1, begins, ends, self.counts)
        self.channel = self.life.open("")
        self.got: list[Message] = []
        self.channel.handle(EventData, self._on_event)
        self.channel.handle(Routed, lambda sender, message: self.channel.send(9, message))
        self.channel.serve(LookupRequest, lambda sender, message: message)

    def _on_event(self, sender: int, message: EventData) -> None:
        self.got.append(message)
        self.channel.send(sender, Goodbye())
        self.channel.send(9, message)

    def receives(self, message: Message, sender: int = 2, request: int = 0) -> list[tuple[int, Message]]:
        self.life.receive("", sender, message, request)
        return self.sent()

    def sent(self) -> list[tuple[int, Message]]:
        return [(sent.peer, sent.message) for sent in self.life.empty_outbox()]

    def let_pass(self, seconds: float) -> list[tuple[int, Message]]:
        end = self.life.clock + seconds
        while due := [t for t in self.life.timers if t.callback is not None and t.at <= end]:
            first = min(due, key=lambda timer: timer.at)
            self.life.clock, call, first.callback = first.at, first.callback, None
            assert call is not None
            call()
        self.life.clock = end
        return self.sent()

    def did(self) -> dict[str, int]:
        """Return how many messages it has dropped, delayed and so on."""
        return {word: count for word, count in self.counts.messages.items() if count}


def test_a_black_hole_takes_and_answers_but_passes_nothing_on() -> None:
    victim = Victim(BlackHole())
    assert victim.receives(EVENT) == [(2, Goodbye())]
    assert victim.got == [EVENT]
    assert [(r.name, r.subject) for r in victim.life.recorded] == [("attack black-hole", 9)]
    assert victim.receives(LookupRequest(number=1), request=4) == [(2, LookupRequest(number=1))]


def test_a_black_hole_stops_what_is_routed_through_it() -> None:
    routed = Routed(1, Contact(2, 8), 3, LookupRequest(number=1))
    assert Victim(BlackHole()).receives(routed) == []


def test_a_black_hole_passes_nothing_on_when_it_tries_again_or_later() -> None:
    victim, asked = Victim(BlackHole()), LookupRequest(number=1)
    part = victim.life.open("part")

    def on_lookup(sender: int, lookup: LookupRequest) -> None:
        part.set_timer(3.0, lambda: part.send(8, lookup))
        part.request(9, lookup, 1.0, lambda reply: None, lambda: part.send(8, lookup))

    part.handle(LookupRequest, on_lookup)
    victim.life.receive("part", 2, asked, 0)
    assert victim.sent() == [] and victim.let_pass(5.0) == []
    assert [record.subject for record in victim.life.recorded] == [9, 8, 8]
    part.set_timer(1.0, lambda: part.send(8, asked))
    assert victim.let_pass(2.0) == [(8, asked)], "what no message asked for is its own"


def test_a_black_hole_may_swallow_a_share() -> None:
    victim = Victim(BlackHole(share=0.25))
    passed = sum((9, EVENT) in victim.receives(EVENT) for _ in range(400))
    assert 260 < passed < 340


def test_an_attacker_is_as_the_others_before_and_after_its_time() -> None:
    victim = Victim(BlackHole(), begins=10, ends=20)
    assert (9, EVENT) in victim.receives(EVENT)
    victim.let_pass(10)
    assert (9, EVENT) not in victim.receives(EVENT)
    victim.let_pass(10)
    assert (9, EVENT) in victim.receives(EVENT)


class Beside(AttackModel):
    """The attack that sends a copy of each event beside it, at once or later."""

    later: bool = False

    @property
    def kind(self) -> str:
        return "beside"

    def begin(self, environment: AttackerEnvironment) -> Attack:
        return _Beside(environment, self.later)


class _Beside(Attack):
    def __init__(self, environment: AttackerEnvironment, later: bool) -> None:
        super().__init__(environment)
        self._later = later

    def sends(self, sending: Sending, send: Callable[[Message], None]) -> bool:
        if isinstance(sending.message, EventData):
            if self._later:
                self.environment.set_timer(1.0, lambda: send(sending.message))
            else:
                send(sending.message)
        return True


@pytest.mark.parametrize("later", [False, True])
def test_what_an_attack_sends_beside_a_message_that_it_lets_pass_counts_as_repeated(later: bool) -> None:
    victim = Victim(Beside(later=later))
    sent = [*victim.receives(EVENT), *victim.let_pass(2.0)]
    assert [peer for peer, message in sent if message == EVENT] == [9, 9]
    assert victim.did() == {"repeated": 1}
    assert [(r.name, r.subject) for r in victim.life.recorded] == [("attack beside", 9)]


def test_delay_passes_on_late() -> None:
    victim = Victim(Delay.model_validate({"by": "2 s"}))
    assert victim.receives(EVENT) == [(2, Goodbye())]
    assert victim.let_pass(1.9) == []
    assert victim.let_pass(0.2) == [(9, EVENT)]


def test_duplication_passes_on_several_times() -> None:
    victim = Victim(Duplication(copies=3))
    assert Counter(peer for peer, _ in victim.receives(EVENT)) == {2: 1, 9: 3}


def test_replay_sends_what_came_to_those_it_knows() -> None:
    victim = Victim(Replay.model_validate({"every": "1 s"}))
    victim.receives(EVENT)
    victim.receives(LookupRequest(number=1), request=4)
    again = victim.let_pass(10.0)
    assert 9 <= len(again) <= 11
    assert {peer for peer, _ in again} == {2} and all(message == EVENT for _, message in again)


def test_garbage_is_another_message_of_the_class_or_none() -> None:
    victim = Victim(Garbage(bits=1))
    passed = []
    for _ in range(100):
        passed += [message for peer, message in victim.receives(EVENT) if peer == 9]
        assert (9, EVENT) in victim.receives(EVENT), "the next one at the same time is as it was"
        victim.let_pass(1.0)
    assert 20 < len(passed) <= 100
    assert all(isinstance(message, EventData) for message in passed)
    assert sum(message != EVENT for message in passed) > 0.9 * len(passed)


class Deaf(AttackModel):
    """An attack as a package brings one: its protocol hears nothing."""

    kind: str = "deaf"

    def begin(self, environment: AttackerEnvironment) -> Attack:
        return _Deaf(environment)


class _Deaf(Attack):
    def sends(self, sending: Sending, send: Callable[[Message], None]) -> bool:
        return True

    def receives(self, sender: int, message: Message, request: bool) -> bool:
        return False


def test_an_attack_of_a_package_decides_what_its_protocol_hears() -> None:
    victim = Victim(Deaf())
    assert victim.receives(EVENT) == [] and not victim.got


@pytest.mark.parametrize(
    "own, receiver, asked_by, passes",
    [(True, 9, 2, False), (False, 2, 2, False), (False, 9, 2, True), (False, 9, -1, True)],
)
def test_what_is_passed_on(own: bool, receiver: int, asked_by: int, passes: bool) -> None:
    assert Sending(receiver, EVENT, own, asked_by, EventData).passes_on is passes
    assert not Sending(receiver, Goodbye(), own, asked_by, Goodbye).passes_on


@pytest.mark.parametrize(
    "model, later, expected",
    [
        (BlackHole(), 0.0, {"dropped": 3}),
        (Delay.model_validate({"by": "2 s"}), 1.0, {"dropped": 3}),
        (Delay.model_validate({"by": "2 s"}), 3.0, {"delayed": 3}),
        (Duplication(copies=3), 0.0, {"repeated": 3}),
        (Deaf(), 0.0, {"dropped": 3}),
    ],
    ids=["black hole", "delay before its time", "delay", "duplication", "deaf"],
)
def test_each_message_counts_once_by_what_the_attack_did_to_it(
    model: AttackModel, later: float, expected: dict[str, int]
) -> None:
    victim = Victim(model)
    for _ in range(3):
        victim.receives(EVENT)
    victim.let_pass(later)
    assert victim.did() == expected and victim.counts.peers == {5}
    assert len(victim.life.recorded) == 3


def test_what_an_attack_sends_of_its_own_accord_and_what_it_changes_is_told_apart() -> None:
    replaying, garbling = Victim(Replay.model_validate({"every": "1 s"})), Victim(Garbage(bits=1))
    replaying.receives(EVENT)
    assert (
        replaying.did() == {} and replaying.did() | {"made": len(replaying.let_pass(10.0))} == replaying.did()
    )
    changed = 0
    for _ in range(100):
        changed += sum(peer == 9 for peer, _ in garbling.receives(EVENT))
        garbling.let_pass(1.0)
    assert garbling.did() == {"changed": changed, "dropped": 100 - changed}


def test_an_attacker_counts_nothing_before_its_time_and_after() -> None:
    victim = Victim(BlackHole(), begins=10, ends=20)
    victim.receives(EVENT)
    assert victim.did() == {} and not victim.counts.peers
    victim.let_pass(20)
    victim.receives(EVENT)
    assert victim.did() == {} and not victim.counts.peers


SYSTEM = System("flood", "Flooding, for tests", "none", FloodParameters, Flood)


def line(tmp_path: Path, attackers: dict[str, Any] | None, hostile: tuple[int, ...]) -> small_trial.Outcome:
    """Run a trial of peers 0 to 3 in a row, each of which knows its neighbours alone; 0 publishes for 3."""
    spec = small_trial.trial_spec("flood", 4, 20.0, attackers=attackers)
    plan = small_trial.make_plan(
        4,
        [(peer, float(peer), 20.0) for peer in range(4)],
        [(3, 1, 0.0, 20.0)],
        [(10.0, 0, 1)],
        attackers=hostile,
    )
    return small_trial.run(spec, plan, tmp_path)


def test_a_trial_has_the_attackers_of_its_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SYSTEMS, "flood", SYSTEM)
    ask = {"number": 3, "behaviour": "black-hole"}
    attacked = line(tmp_path / "attacked", ask, (0, 1, 2))
    told = Counter(span.attributes[names.PEER] for span in attacked.spans if span.name == names.OBSERVATION)
    assert set(told) <= {1, 2}, "the publisher's own event is not passed on"
    assert sum(told.values()) > 0
    (report,) = attacked.fidelity.faults
    assert (report.name, report.kind, report.begun_s, report.asked_end_s) == (
        "attack",
        "black-hole",
        0.0,
        None,
    )
    assert report.peers == 3 and report.messages["dropped"] == sum(told.values())
    # Peer 0 sends its own event, so whom it knows get it.
    assert any(span.name == "EventData" for span in attacked.spans)


def spec(**keys: Any) -> TrialSpec:
    return small_trial.trial_spec("vitis", 100, 40.0, **keys)


def test_attackers_are_drawn_from_the_seed_and_more_of_them_contain_the_fewer() -> None:
    def drawn(share: float, seed: int = 1) -> set[int]:
        plan = draw_plan(spec(attackers={"share": share, "behaviour": "black-hole"}, seed=seed))
        return {row["peer"] for row in plan.peers.to_pylist() if row["attacker"]}

    assert len(drawn(0.1)) == 10 and len(drawn(0.3)) == 30
    assert drawn(0.1) < drawn(0.3)
    assert drawn(0.1) != drawn(0.1, seed=2)
    other = draw_plan(spec()).peers
    assert not any(other["attacker"].to_pylist())


@pytest.mark.parametrize(
    "attackers, key, words",
    [
        ({"share": 0.1, "number": 3}, "share", "exactly one of `share`, `number`"),
        ({}, "share", "exactly one of `share`, `number`"),
        ({"share": 0.001}, "share", "is nobody"),
        ({"number": 100}, "number", "leave nobody"),
        ({"share": 0.1, "at": "50 s"}, "at", "the trial ends at 40 s"),
        ({"number": 4, "identities": 7}, "identities", "4 attacking peers, .* as 7 peers"),
    ],
)
def test_attackers_that_cannot_be_drawn_are_refused(attackers: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ValueError, match=rf"attackers\.{key}: .*{words}"):
        draw_plan(spec(attackers={"behaviour": "delay"} | attackers))


@pytest.mark.parametrize("behaviour", ["garbage", "replay"])
@pytest.mark.parametrize("system", ["vitis", "scribe-pastry", "magnet-oscar", "quasar-random-graph", "opt"])
def test_honest_peers_bear_what_attackers_send(system: str, behaviour: str, tmp_path: Path) -> None:
    attackers = {"share": 0.3, "behaviour": {"kind": behaviour, "every": "200 ms"}}
    asked = TrialSpec.model_validate(
        {
            "system": {"name": system},
            "peers": 20,
            "network": {"latency": {"kind": "constant", "rtt": "50 ms"}},
            "workload": {
                "subscriptions": {"kind": "random", "topics": 5, "per_peer": 2},
                "publications": {"events": 20},
            },
            "phases": {"join": "2 s", "settle": "10 s", "measure": "5 s", "drain": "2 s"},
            "attackers": attackers,
        }
    )
    outcome = small_trial.run(asked, draw_plan(asked), tmp_path)
    assert outcome.deliveries()
    assert any(span.name == names.OBSERVATION for span in outcome.spans)
