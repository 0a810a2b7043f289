"""What the actor of a script has peers do, in a world that a test makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from fleet_toys import Flood, FloodParameters
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from realtime_world import World
from workload_toys import ModuloLookups

from emulator.contract.protocol import Application, Environment, Event, TopicInterest
from emulator.contract.registry import WORKLOADS
from emulator.contract.workload import Held
from emulator.runtime.realtime.session import Session
from emulator.runtime.script import GiveUp, Join, Leave, Script, TakeUp
from emulator.runtime.script_actor import PlannedLife, ScriptActor
from emulator.runtime.script_actor import World as ActorWorld
from emulator.workload.event_operations import Publish, Subscription

SEVEN, EIGHT = Subscription(0, TopicInterest(7)), Subscription(1, TopicInterest(8))
HELD = [Held(0, 0.0, 9e9, SEVEN), Held(0, 1e9, 9e9, EIGHT)]


class Stage(ActorWorld):
    """Peers at one host, which are up at once when they are to be."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sessions: list[int] = []

    def trial_time(self) -> float:
        return self.world.host.clock.now()

    def life_of(self, peer: int) -> Session | None:
        return self.world.host.sessions.get(peer)

    def new_life(self, peer: int, session: int, random: Random, role: str) -> Session:
        self.sessions.append(session)
        return Session(self.world.host, peer, session, random, role)

    def begin(self, life: PlannedLife) -> None:
        assert isinstance(life, Session)
        self.world.host.sessions[life.peer] = life

    def end(self, life: PlannedLife) -> None:
        self.world.crash(life.peer)

    def take_down(self, life: PlannedLife) -> None:
        del self.world.host.sessions[life.peer]

    def bring_back(self, life: PlannedLife) -> int:
        self.begin(life)
        return 0


class Noting(Flood):
    """Notes what it is asked for, in order."""

    notes: list[object]

    def start(self, contacts: Sequence[int]) -> None:
        self.notes.append(("start", list(contacts)))

    def stop(self, graceful: bool) -> None:
        self.notes.append(("stop", graceful))

    def subscribe(self, interest: object) -> None:
        self.notes.append(interest)

    def unsubscribe(self, interest: object) -> None:
        self.notes.append(("no more", interest))

    def publish(self, event: Event) -> None:
        self.notes.append(event)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


@pytest.fixture
def notes() -> list[object]:
    return []


def noting(notes: list[object]) -> Callable[[Environment], Application]:
    def create(environment: Environment) -> Application:
        made = Noting(environment, FloodParameters())
        made.notes = notes
        return made

    return create


@pytest.fixture
def actor(world: World, notes: list[object]) -> ScriptActor:
    return ScriptActor(Stage(world), Script([], HELD), WORKLOADS["topics"], noting(notes), seed=1)


def told(world: World) -> list[tuple[str, dict[str, object]]]:
    def read(span: Span) -> dict[str, object]:
        values = {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}
        return {key.removeprefix("trellis."): value for key, value in values.items() if key != "trellis.peer"}

    return [(span.name, read(span)) for span in world.spans()]


def test_who_joins_holds_what_it_holds_then_before_it_starts(
    world: World, actor: ScriptActor, notes: list[object]
) -> None:
    actor.join(0, Join(3), [1, 2])
    assert notes == [TopicInterest(7), ("start", [1, 2])]
    assert told(world) == [("join", {"session": 3})]


def test_what_is_held_already_is_not_taken_up_again_and_what_is_not_held_is_not_given_up(
    world: World, actor: ScriptActor, notes: list[object]
) -> None:
    actor.join(0, Join(0), [])
    notes.clear()
    for action in (TakeUp(SEVEN), GiveUp(EIGHT), TakeUp(EIGHT), GiveUp(SEVEN)):
        actor.change(0, action)
    assert notes == [TopicInterest(8), ("no more", TopicInterest(7))]
    changes = [("subscribe", {"topic": 8, "interest": 1}), ("unsubscribe", {"topic": 7, "interest": 0})]
    assert told(world)[1:] == changes


@pytest.mark.parametrize(("topic", "interested"), [(7, True), (8, False)])
def test_a_publication_says_whether_its_publisher_is_interested(
    world: World, actor: ScriptActor, notes: list[object], topic: int, interested: bool
) -> None:
    actor.join(0, Join(0), [])
    assert actor.ask(0, Publish(Event(5, 0, topic)))
    assert notes[-1] == Event(5, 0, topic)
    assert told(world)[-1] == ("publish", {"topic": topic, "event": 5, "interested": interested})


def test_who_is_down_is_asked_for_nothing(world: World, actor: ScriptActor, notes: list[object]) -> None:
    assert not actor.ask(0, Publish(Event(5, 0, 7)))
    actor.change(0, TakeUp(SEVEN))
    assert not notes
    assert not told(world)


@pytest.mark.parametrize("graceful", [True, False])
def test_only_who_leaves_gracefully_hears_of_it(
    world: World, actor: ScriptActor, notes: list[object], graceful: bool
) -> None:
    actor.join(0, Join(0), [])
    notes.clear()
    actor.leave(world.host.sessions[0], Leave(0, graceful))
    assert notes == ([("stop", True)] if graceful else [])
    assert not world.host.sessions
    assert told(world)[-1] == ("leave", {"session": 0, "graceful": graceful})


def test_a_protocol_that_cannot_be_asked_is_refused_by_name(world: World) -> None:
    tested = ScriptActor(Stage(world), Script([], []), WORKLOADS["topics"], ModuloLookups, seed=1)
    with pytest.raises(TypeError, match=r'ModuloLookups is no PubSub, .* kind "topics"'):
        tested.join(0, Join(0), [])
