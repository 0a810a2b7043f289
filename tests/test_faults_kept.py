"""Peers that crash and come back with the state that they had."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from faults_by_hand import CHURN, fault, observed, sessions
from realtime_world import Parts, World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import Outcome, run
from test_faults_crash import follower

from emulator.contract.registry import WORKLOADS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import KEPT, Plan
from emulator.experiment.run.fidelity import FaultReport
from emulator.faults.spec import FaultSpec
from emulator.fleet.coordinator.planned_kills import planned_kills
from emulator.runtime.plan_script import faults_hit, script_of
from emulator.runtime.realtime.script_follower import ScriptFollower
from emulator.runtime.script import ComeBack, GoDown, Join, Leave, Script, Step
from emulator.telemetry import names
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import EventData, Pull

KEEPS: dict[str, Any] = {"peers": [1], "state": "kept"}
GONE = fault("gone", crash=KEEPS)
BOTH = '"b" hits peer 1 while "a" does, and no peer can have a `pause` and a `crash` with its state kept'


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def operations(outcome: Outcome, peer: int) -> list[tuple[str, float]]:
    """Return the operations of a peer, with their times."""
    found = [(span.name, span.start) for span in outcome.spans if span.attributes.get(names.PEER) == peer]
    return [
        (name, round(at, 6)) for name, at in found if name in ("join", "leave", "subscribe", "unsubscribe")
    ]


def test_a_peer_goes_on_with_its_state_and_what_was_sent_to_it_meanwhile_is_lost(
    diary: type[Diary], tmp_path: Path
) -> None:
    def start(peer: Diary) -> None:
        if peer.peer == 0:
            for at in (1.0, 3.0, 6.0):
                peer.environment.set_timer(at, partial(peer.environment.send, 1, Pull(event=int(at))))
            return
        for at in (4.5, 1.5, 3.0, 6.0):
            peer.environment.set_timer(at, peer.tick)
        peer.environment.every(0.9, partial(peer.stopped.append, True))

    diary.on_start = staticmethod(start)
    outcome = run(diary_spec(2, faults=[GONE]), draw_plan(diary_spec(2, faults=[GONE])), tmp_path)
    sender, kept = diary.lives
    assert [message.event for _, _, message in kept.received] == [1, 6]  # type: ignore[attr-defined]
    assert sender.unreachable == [(pytest.approx(5.0), 1)]
    assert kept.ticks == [1.5, 5.0, 5.0, 6.0]
    assert len(kept.stopped) in (8, 9), "one call of those that were due, and one each period after that"
    assert operations(outcome, 1) == [("join", 0.0)]
    assert observed(outcome, "fault gone begins") == [(1, 2.0, 3.0)]
    assert observed(outcome, "fault gone ends") == [(1, 5.0, 3.0)]
    assert outcome.fidelity.faults == [FaultReport("gone", "crash", "virtual", 2.0, 5.0, 2.0, 5.0, 1, 3)]
    assert outcome.fidelity.valid


def test_nobody_is_named_a_peer_that_is_down_and_all_are_when_it_is_back(
    diary: type[Diary], tmp_path: Path
) -> None:
    named: list[tuple[float, list[int]]] = []

    def start(peer: Diary) -> None:
        def note(contacts: Any) -> None:
            named.append((round(peer.environment.now, 6), list(contacts)))

        if peer.peer == 0:
            for at in (1.0, 3.0, 6.0):
                peer.environment.set_timer(at, partial(peer.environment.find_contacts, note))

    diary.on_start = staticmethod(start)
    asked = diary_spec(2, faults=[GONE])
    run(asked, draw_plan(asked), tmp_path)
    assert named == [(1.1, [1]), (3.1, []), (6.1, [1])]


def test_requests_of_a_peer_that_was_down_run_into_their_time_outs(
    diary: type[Diary], tmp_path: Path
) -> None:
    ends: list[tuple[float, str]] = []

    def start(peer: Diary) -> None:
        environment = peer.environment

        def note(what: str, *_: Any) -> None:
            ends.append((round(environment.now, 6), what))

        def ask(what: str, timeout: float) -> None:
            environment.request(0, Goodbye(), timeout, partial(note, f"{what} replied"), partial(note, what))

        if peer.peer == 0:
            environment.serve(Goodbye, lambda sender, message: EventData(event=1))
            return
        environment.set_timer(1.5, partial(ask, "early", 1.0))
        environment.set_timer(1.95, partial(ask, "short", 1.0))
        environment.set_timer(1.97, partial(ask, "long", 4.0))

    diary.on_start = staticmethod(start)
    asked = diary_spec(2, faults=[GONE])
    run(asked, draw_plan(asked), tmp_path)
    assert ends == [(1.6, "early replied"), (5.0, "short"), (5.97, "long")]


def test_a_peer_that_comes_back_takes_up_and_gives_up_what_it_missed_and_nothing_else(
    diary: type[Diary], tmp_path: Path
) -> None:
    asked = diary_spec(2, faults=[GONE])
    drawn = draw_plan(asked)
    rows = [(7, 0.0, 10.0), (8, 0.0, 3.0), (9, 4.0, 9.0), (4, 3.0, 4.0)]
    subscriptions = drawn.subscriptions.schema.empty_table().from_pylist(
        [
            {"interest": n, "peer": 1, "topic": topic, "rate": 1.0, "start_s": start, "end_s": end}
            for n, (topic, start, end) in enumerate(rows)
        ],
        schema=drawn.subscriptions.schema,
    )
    tables = {**drawn.tables, "subscriptions": subscriptions}
    outcome = run(asked, Plan(drawn.peers, drawn.sessions, drawn.faults, **tables), tmp_path)
    (peer,) = [each for each in diary.lives if each.peer == 1]
    assert [(what, at, interest.topic) for what, at, interest in peer.interests] == [  # type: ignore[union-attr]
        ("subscribe", 0.0, 7),
        ("subscribe", 0.0, 8),
        ("unsubscribe", 5.0, 8),
        ("subscribe", 5.0, 9),
        ("unsubscribe", 9.0, 9),
    ]
    assert operations(outcome, 1)[1:] == [("unsubscribe", 5.0), ("subscribe", 5.0), ("unsubscribe", 9.0)]


def test_messages_that_a_peer_had_in_hand_are_lost(diary: type[Diary], tmp_path: Path) -> None:
    def start(peer: Diary) -> None:
        if peer.peer == 0:
            for at in (1.0, 1.1, 1.2, 2.97, 5.5):
                peer.environment.set_timer(at, partial(peer.environment.send, 1, Pull(event=int(100 * at))))

    diary.on_start = staticmethod(start)
    asked = diary_spec(2, faults=[fault("gone", "2 s", "1 s", crash=KEEPS)], processing={"message": "0.9 s"})
    run(asked, draw_plan(asked), tmp_path)
    sender, kept = diary.lives
    heard = [(round(at, 6), message.event) for at, _, message in kept.received]  # type: ignore[attr-defined]
    assert heard == [(1.95, 100), (3.92, 297), (6.45, 550)]
    assert [round(at, 6) for at, _ in sender.unreachable] == [3.1, 3.75]


def test_a_peer_that_is_down_does_not_learn_that_nobody_was_reached(
    diary: type[Diary], tmp_path: Path
) -> None:
    def start(peer: Diary) -> None:
        if peer.peer == 1:
            for at in (1.98, 5.5):
                peer.environment.set_timer(at, partial(peer.environment.send, 0, Pull(event=1)))

    diary.on_start = staticmethod(start)
    phases = {"join": "0 s", "settle": "8.5 s", "measure": "1.5 s", "drain": "0 s"}
    asked = diary_spec(2, phases=phases, faults=[GONE, fault("other", lasts="6 s", crash={"peers": [0]})])
    run(asked, draw_plan(asked), tmp_path)
    (peer,) = [each for each in diary.lives if each.peer == 1]
    assert [at for at, _ in peer.unreachable] == [7.5]


def test_a_plan_says_which_sessions_begin_without_a_join() -> None:
    asked = diary_spec(40, end=60.0, **CHURN, faults=[fault("gone", "30 s", "10 s", crash={"share": 0.5})])
    kept = asked.model_copy(
        update={
            "faults": [
                FaultSpec.model_validate(fault("gone", "30 s", "10 s", crash={"share": 0.5, "state": "kept"}))
            ]
        }
    )
    assert sessions(kept) == sessions(asked)
    assert KEPT.name not in draw_plan(asked).sessions.column_names
    plan = draw_plan(kept)
    rows = plan.sessions.to_pylist()
    (hit,) = faults_hit(kept, plan)
    before = diary_spec(40, end=60.0, **CHURN)
    through = {peer for peer, start, end, _ in sessions(before) if start < 30 and end > 40 and peer in hit}
    ended = {peer for peer, start, end, _ in sessions(before) if start < 30 < end < 40 and peer in hit}
    goes_on = {row["peer"] for row in rows if row["kept"] is not None}
    assert through and ended and goes_on == through
    assert {(row["kept"], row["start_s"]) for row in rows if row["kept"] is not None} == {(0, 40.0)}
    steps = script_of(plan, WORKLOADS["topics"], 60.0).steps
    assert {step.peer for step in steps if isinstance(step.action, GoDown)} == through
    crash = {step.peer for step in steps if isinstance(step.action, Leave) and step.at == 30}
    assert crash == ended
    backs = [step for step in steps if isinstance(step.action, ComeBack)]
    assert {step.peer for step in backs} == through and {step.at for step in backs} == {40.0}
    joins = sum(isinstance(step.action, Join) for step in steps)
    assert joins == len(rows) - len(through)
    killed = {(kill.peer, kill.at_s) for kill in planned_kills(plan, range(40), 60.0)}
    assert {peer for peer, at in killed if at == 30.0} & goes_on == set()
    assert ended <= {peer for peer, at in killed if at == 30.0}


def test_a_peer_that_had_not_joined_for_want_of_the_bootstrap_service_joins_when_it_comes_back() -> None:
    faults = [
        fault("away", "0 s", "3 s", bootstrap="away"),
        fault("gone", "2 s", "3 s", crash={"peers": [1], "state": "kept"}),
        fault("late", "6 s", "2 s", bootstrap="away"),
        fault("again", "6 s", "1 s", crash={"peers": [2], "state": "kept"}),
    ]
    phases = {"join": "0 s", "settle": "8 s", "measure": "2 s", "drain": "0 s"}
    rows = draw_plan(diary_spec(3, phases=phases, faults=faults)).sessions.to_pylist()
    told = [(row["peer"], row["start_s"], row["end_s"], row["kept"]) for row in rows]
    assert told == [
        (0, 3.0, 10.0, None),
        (1, 5.0, 10.0, None),
        (2, 3.0, 6.0, None),
        (2, 7.0, 10.0, 3),
    ]


@pytest.mark.parametrize("name", ["vitis", "chord"])
def test_the_same_trial_has_the_same_telemetry_with_rows_and_with_messages(tmp_path: Path, name: str) -> None:
    """A world that checks the contract passes no rows on, and else does what the other one does."""
    given = small(name, "kept")
    plain = TrialSpec.model_validate(given)
    checked = TrialSpec.model_validate(given | {"runtime": {"kind": "virtual", "check": True}})
    first, second = (run(each, draw_plan(each), tmp_path / str(n)) for n, each in enumerate((plain, checked)))
    assert first.files() == second.files()
    (report,) = first.fidelity.faults
    assert report.peers == 2 and report.waited > 0 and first.fidelity.valid


def small(name: str, state: str) -> dict[str, Any]:
    """Return a trial of ten peers, of which two crash for 3 s."""
    topics = {
        "subscriptions": {"kind": "random", "topics": 2, "per_peer": 2, "buckets": 1},
        "publications": {"events": 40},
    }
    return {
        "system": {"name": name},
        "peers": 10,
        "workload": topics if name == "vitis" else {"lookups": {"rate": 5.0}},
        "phases": {"join": "1 s", "settle": "10 s", "measure": "20 s", "drain": "4 s"},
        "faults": [fault("gone", "12 s", "3 s", crash={"peers": [3, 4], "state": state})],
    }


def test_a_peer_delivers_again_without_any_message_of_a_join(tmp_path: Path) -> None:
    joins: dict[str, list[tuple[int, float]]] = {}
    for state in ("kept", "lost"):
        asked = TrialSpec.model_validate(small("vitis", state))
        outcome = run(asked, draw_plan(asked), tmp_path / state)
        got = [
            span
            for span in outcome.spans
            if span.attributes.get(names.DELIVERED) and span.attributes[names.PEER] in (3, 4)
        ]
        assert not [span for span in got if 12 <= span.start < 15]
        assert len([span for span in got if span.start > 16]) > 20
        joins[state] = [
            (span.attributes[names.PEER], span.start)
            for span in outcome.spans
            if span.name == "join" and span.attributes[names.PEER] in (3, 4) and span.start > 1
        ]
    assert joins == {"kept": [], "lost": [(3, 15.0), (4, 15.0)]}


@pytest.mark.parametrize(
    "faults, key, words",
    [
        ([fault(lasts=None, crash=KEEPS)], "0.for", "a peer that keeps its state has to come back"),
        ([fault(lasts="8 s", crash=KEEPS)], "0.for", "ends at 10 s. Make it shorter"),
        (
            [fault("a", crash=KEEPS), fault("b", at="4 s", pause={"peers": [1]})],
            "1.at",
            BOTH,
        ),
        (
            [fault("a", pause={"peers": [0, 1]}), fault("b", at="4 s", crash=KEEPS)],
            "1.at",
            BOTH,
        ),
        (
            [fault("a", crash=KEEPS), fault("b", at="4 s", crash={"peers": [1]})],
            "1.at",
            "two faults of the kind",
        ),
    ],
)
def test_crashes_that_keep_no_state_are_refused(faults: list[dict[str, Any]], key: str, words: str) -> None:
    with pytest.raises(ValueError) as error:
        draw_plan(diary_spec(4, faults=faults))
    told = str(error.value)
    assert f"faults.{key}: " in told and words in told and "leave it out" not in told


def test_a_crash_without_its_state_may_hit_a_peer_that_is_paused() -> None:
    faults = [fault("a", pause={"peers": [1]}), fault("b", at="4 s", crash={"peers": [1]})]
    assert draw_plan(diary_spec(4, faults=faults)).faults.num_rows == 2


def follow(world: World, told: list[tuple[str, int]], steps: list[Step]) -> ScriptFollower:
    async def track(left: Any, joining: Any, asking: Any) -> Any:
        told.extend([*(("left", peer) for peer in left), *(("up", peer) for peer in joining)])
        return [[] for _ in joining], [[] for _ in asking]

    gone = FaultSpec.model_validate(fault("gone", "0 s", "1 s", crash=KEEPS))
    return follower(world, steps, track, faults=[gone], hit=[[1]])


def test_a_host_keeps_the_calls_of_a_peer_that_is_down_and_sends_its_messages_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        kept, other = world.add(1, Parts), world.add(0, Parts)
        session, done, told = world.host.sessions[1], list[str](), list[tuple[str, int]]()
        world.run(until=lambda: True)
        now = world.host.clock.now()
        steps = [Step(now + 0.05, 1, GoDown(0)), Step(now + 0.5, 1, ComeBack(1, 0))]
        tested = follow(world, told, steps)
        tested.follow()
        task = world.loop.create_task(tested.run())
        kept.environment.set_timer(0.2, partial(done.append, "timer"))
        kept.environment.every(0.05, partial(done.append, "tick"))
        kept.environment.set_timer(0.04, partial(kept.pull, 0, 3, 0.2))
        world.run(lambda: 1 not in world.host.sessions)
        before = list(done)
        other.environment.send(1, Goodbye())
        world.run(lambda: other.unreachable)
        assert done == before and not kept.heard and not kept.ends
        world.run(lambda: 1 in world.host.sessions)
        world.run(lambda: session.waiting is None and done.count("tick") > before.count("tick") + 1)
        assert world.host.sessions[1] is session and session.planned == 1
        assert done.count("timer") == 1 and not kept.heard and kept.ends == ["failed"]
        other.environment.send(1, Goodbye())
        world.run(lambda: kept.heard)
        world.run(lambda: ("up", 1) in told)
        assert told == [("left", 1), ("up", 1)]
        task.cancel()
    finally:
        world.close()


def test_a_peer_whose_host_was_started_again_meanwhile_has_lost_its_state_and_joins(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        world.run(until=lambda: True)
        now = world.host.clock.now()
        told: list[tuple[str, int]] = []
        tested = follow(world, told, [Step(now, 1, ComeBack(1, 0))])
        tested.follow()
        task = world.loop.create_task(tested.run())
        world.run(lambda: 1 in world.host.sessions)
        assert world.host.sessions[1].planned == 1 and told == [("up", 1)]
        task.cancel()
    finally:
        world.close()


def test_a_host_that_is_started_again_takes_up_sessions_that_began_without_a_join() -> None:
    steps = [Step(0.0, 1, Join(0)), Step(2.0, 1, GoDown(0)), Step(5.0, 1, ComeBack(1, 0))]
    script = Script(steps, [])
    assert [step.action for step in script.rest(1.0)] == [Join(0), GoDown(0), ComeBack(1, 0)]
    assert [step.action for step in script.rest(3.0)] == [ComeBack(1, 0)]
    assert [step.action for step in script.rest(6.0)] == [ComeBack(1, 0)]
