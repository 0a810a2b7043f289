"""The virtual runtime: what it does with the messages and timers of a protocol that the test wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from pydantic import BaseModel
from small_trial import Outcome, make_plan, run, trial_spec
from trellis.v1.pubsub_pb2 import EventData, Notification, Pull

from emulator.experiment.draw import draw_plan
from emulator.experiment.plan import Plan
from emulator.experiment.spec import TrialSpec
from emulator.network.model import build_network
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


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Diary]]:
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


SMALL_VITIS = {
    "system": {"name": "vitis"},
    "peers": 25,
    "network": {"latency": {"kind": "king", "hosts": 20}, "jitter": "5 ms", "loss": 0.01},
    "workload": {
        "subscriptions": {"kind": "high", "topics": 20, "buckets": 4, "per_peer": 10},
        "publications": {"events": 20},
    },
    "churn": {"model": {"kind": "poisson", "mean_session": "10 s", "mean_gap": "5 s"}, "graceful": 0.5},
    "phases": {"join": "2 s", "settle": "5 s", "measure": "5 s", "drain": "2 s"},
}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    def files(name: str, seed: int, plan_seed: int) -> dict[str, bytes]:
        spec = TrialSpec.model_validate(SMALL_VITIS | {"seed": seed})
        plan = draw_plan(TrialSpec.model_validate(SMALL_VITIS | {"seed": plan_seed}))
        outcome = run(spec, plan, tmp_path / name)
        assert len(outcome.spans) > 100
        return outcome.files()

    one, again = files("one", 1, 1), files("again", 1, 1)
    assert one.keys() == again.keys()
    assert all(one[name] == again[name] for name in one)
    assert files("other", 2, 2) != one
    assert files("same plan", 2, 1) != one


def test_a_message_takes_the_delay_of_the_matrix(diary: type[Diary], tmp_path: Path) -> None:
    spec = diary_spec(4, network={"latency": {"kind": "king", "hosts": 4}})
    locations = [2, 0, 3, 1]
    plan = make_plan(4, [(peer, 0.0, 10.0) for peer in range(4)], locations=locations)

    def greet(peer: Diary) -> None:
        for other in range(4):
            peer.environment.set_timer(1.0, lambda other=other: peer.environment.send(other, Pull()))  # type: ignore[misc]

    diary.on_start = staticmethod(greet)
    run(spec, plan, tmp_path)
    network = build_network(spec.network, locations, spec.seed)
    arrivals = {(sender, p.peer): at for p in diary.lives for at, sender, _ in p.received}
    assert len(arrivals) == 16
    for (sender, receiver), at in arrivals.items():
        assert at == pytest.approx(1.0 + network.one_way(sender, receiver), abs=1e-12)


def test_messages_between_two_peers_arrive_in_order_of_sending(diary: type[Diary], tmp_path: Path) -> None:
    def send_many(peer: Diary) -> None:
        for number in range(20):
            peer.environment.send(1 - peer.peer, Pull(event=number))

    diary.on_start = staticmethod(send_many)
    run(diary_spec(), make_plan(2, [(0, 0.0, 10.0), (1, 0.0, 10.0)]), tmp_path)
    assert all([m.event for _, _, m in p.received] == list(range(20)) for p in diary.lives)  # type: ignore[attr-defined]


def test_a_sender_learns_that_a_peer_is_down_after_the_time_out(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.send(1, Pull()) if peer.peer == 0 else None)
    run(diary_spec(), make_plan(2, [(0, 1.0, 10.0), (1, 5.0, 10.0)]), tmp_path)
    sender, receiver = diary.lives
    assert sender.unreachable == [(3.0, 1)]
    assert receiver.received == []


def test_a_peer_that_left_gets_nothing(diary: type[Diary], tmp_path: Path) -> None:
    def send_twice(peer: Diary) -> None:
        if peer.peer == 0:
            for delay in (1.0, 4.0 - LATENCY / 2):
                peer.environment.set_timer(delay, lambda: peer.environment.send(1, Pull()))

    diary.on_start = staticmethod(send_twice)
    run(diary_spec(), make_plan(2, [(0, 0.0, 10.0), (1, 0.0, 4.0)]), tmp_path)
    sender, receiver = diary.lives
    assert [at for at, _, _ in receiver.received] == [pytest.approx(1.0 + LATENCY)]
    assert sender.unreachable == [(pytest.approx(6.0 - LATENCY / 2), 1)]


def test_who_crashed_does_not_learn_that_others_were_unreachable(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.send(1, Pull()))
    run(diary_spec(), make_plan(2, [(0, 1.0, 2.0), (0, 2.5, 10.0)]), tmp_path)
    first, second = diary.lives
    assert first.unreachable == []
    assert second.unreachable == [(4.5, 1)]


def test_timers_of_a_crashed_peer_never_fire(diary: type[Diary], tmp_path: Path) -> None:
    def set_timers(peer: Diary) -> None:
        peer.environment.set_timer(3.0, peer.tick)
        peer.environment.every(1.0, peer.tick)

    diary.on_start = staticmethod(set_timers)
    run(diary_spec(), make_plan(2, [(0, 0.0, 2.5), (0, 2.75, 10.0)]), tmp_path)
    first, second = diary.lives
    assert first.ticks
    assert max(first.ticks) <= 2.5
    assert 5.75 in second.ticks
    assert len(second.ticks) in (8, 9)


def test_a_period_begins_within_itself_and_then_repeats(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.every(2.0, peer.tick))
    run(diary_spec(30), make_plan(30, [(peer, 1.0, 10.0) for peer in range(30)]), tmp_path)
    firsts = []
    for peer in diary.lives:
        first, *later = peer.ticks
        firsts.append(first)
        assert later == pytest.approx([first + 2.0 * n for n in range(1, len(later) + 1)])
        assert peer.ticks[-1] > 8.0
    assert all(1.0 <= first <= 3.0 for first in firsts)
    assert max(firsts) - min(firsts) > 1.0


@pytest.mark.parametrize("periodic", [False, True])
def test_a_cancelled_timer_does_not_fire(diary: type[Diary], tmp_path: Path, periodic: bool) -> None:
    def set_and_cancel(peer: Diary) -> None:
        set_timer = peer.environment.every if periodic else peer.environment.set_timer
        timer = set_timer(2.0, peer.tick)
        peer.environment.set_timer(5.0 if periodic else 1.0, timer.cancel)

    diary.on_start = staticmethod(set_and_cancel)
    run(diary_spec(), make_plan(2, both_up(10.0)), tmp_path)
    assert all(tick <= 5.0 for peer in diary.lives for tick in peer.ticks)
    assert all(len(peer.ticks) == (2 if periodic else 0) or periodic for peer in diary.lives)


def test_a_periodic_timer_can_cancel_itself(diary: type[Diary], tmp_path: Path) -> None:
    def once(peer: Diary) -> None:
        def call() -> None:
            peer.tick()
            timer.cancel()

        timer = peer.environment.every(1.0, call)

    diary.on_start = staticmethod(once)
    run(diary_spec(), make_plan(2, both_up(10.0)), tmp_path)
    assert [len(peer.ticks) for peer in diary.lives] == [1, 1]


def test_only_a_graceful_leave_is_announced_to_the_protocol(diary: type[Diary], tmp_path: Path) -> None:
    for graceful in (True, False):
        diary.lives.clear()
        plan = make_plan(2, [(0, 0.0, 2.0), (1, 0.0, 10.0)], graceful=graceful)
        run(diary_spec(), plan, tmp_path / str(graceful))
        assert [peer.stopped for peer in diary.lives] == [[True] if graceful else [], []]


def test_bootstrap_contacts_are_live_and_never_oneself(diary: type[Diary], tmp_path: Path) -> None:
    sessions = [(0, 0.0, 3.0), *((peer, float(peer), 30.0) for peer in range(1, 20))]
    run(diary_spec(20, 30.0), make_plan(20, sessions), tmp_path)
    for peer in diary.lives:
        live = {other for other, start, end in sessions if start < peer.peer < end}
        if peer.peer == 3:
            live.discard(0)
        assert len(peer.contacts) == min(3, len(live))
        assert set(peer.contacts) <= live


def test_the_bootstrap_service_can_be_asked_again(diary: type[Diary], tmp_path: Path) -> None:
    answers: list[tuple[int, set[int]]] = []

    def ask(peer: Diary) -> None:
        def answer(contacts: Sequence[Contact]) -> None:
            answers.append((peer.peer, {contact.peer for contact in contacts}))

        peer.environment.set_timer(5.0, lambda: peer.environment.find_contacts(answer))

    diary.on_start = staticmethod(ask)
    run(diary_spec(3), make_plan(3, [(peer, 0.0, 10.0) for peer in range(3)]), tmp_path)
    assert answers == [(0, {1, 2}), (1, {0, 2}), (2, {0, 1})]


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


def test_a_trace_follows_messages_and_single_timers(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))

    def answer(peer: Diary, sender: int, message: Message) -> None:
        if isinstance(message, Notification):
            peer.environment.set_timer(1.0, lambda: peer.environment.send(sender, Pull(event=0)))

    diary.on_message = staticmethod(answer)
    outcome = publish_once(diary, tmp_path)
    assert hops(outcome) == [
        ("Notification", 4.0, 4.0 + LATENCY, 1),
        ("Pull", 5.0 + LATENCY, 5.0 + 2 * LATENCY, 2),
    ]
    (root,) = [span for span in outcome.spans if span.name == "publish"]
    notification, pull = sorted(
        (s for s in outcome.spans if names.DEPTH in s.attributes), key=lambda s: s.end
    )
    assert root.trace == notification.trace == pull.trace
    assert (notification.parent, pull.parent) == (root.span, notification.span)
    assert notification.attributes[names.SENDER] == pull.attributes[names.PEER] == 0
    assert [s.attributes[names.INTERESTED] for s in (root, notification, pull)] == [False, True, False]
    assert notification.attributes[names.TOPIC] == 7
    assert notification.attributes[names.BYTES] == Notification(event=0).ByteSize()


def test_a_trace_does_not_follow_periodic_timers(diary: type[Diary], tmp_path: Path) -> None:
    def publish(peer: Diary, event: Event) -> None:
        peer.environment.every(1.0, lambda: peer.environment.send(1, Pull(event=0)))

    diary.on_publish = staticmethod(publish)
    outcome = publish_once(diary, tmp_path)
    assert hops(outcome) == []
    assert len(diary.lives[1].received) in (5, 6)


def test_maintenance_between_the_messages_of_operations_is_not_traced(
    diary: type[Diary], tmp_path: Path
) -> None:
    peers = range(1, 12)

    def publish(peer: Diary, event: Event) -> None:
        for other in peers:
            peer.environment.send(other, EventData(event=event.number))

    def answer(peer: Diary, sender: int, message: Message) -> None:
        if isinstance(message, Pull):
            peer.environment.send(sender, Notification(event=0))
        elif isinstance(message, EventData):
            peer.environment.set_timer(0.013, peer.tick)

    def begin(peer: Diary) -> None:
        if peer.peer:
            peer.environment.every(0.3, lambda: peer.environment.send(0, Pull(event=0)))

    diary.on_publish, diary.on_message = staticmethod(publish), staticmethod(answer)
    diary.on_start = staticmethod(begin)
    publications = [(3.0 + number * 0.37, 0, 7) for number in range(12)]
    plan = make_plan(12, [(peer, 0.0, 10.0) for peer in range(12)], [], publications)
    outcome = run(diary_spec(12), plan, tmp_path)
    assert {name for name, _, _, _ in hops(outcome)} == {"EventData"}
    assert all(len(peer.ticks) == 12 for peer in diary.lives if peer.peer)


def test_what_follows_from_an_unreachable_peer_belongs_to_the_trace(
    diary: type[Diary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(2, Notification(event=0)))
    monkeypatch.setattr(
        diary, "on_unreachable", lambda peer, other: peer.environment.send(1, Pull(event=0)), raising=False
    )
    plan = make_plan(3, both_up(10.0), [], [(4.0, 0, 7)])
    outcome = run(diary_spec(3), plan, tmp_path)
    assert hops(outcome) == [("Pull", 6.0, 6.0 + LATENCY, 1)]


def test_a_delivery_is_marked_on_the_span_of_its_message_alone(diary: type[Diary], tmp_path: Path) -> None:
    def publish(peer: Diary, event: Event) -> None:
        peer.environment.send(1, EventData(event=event.number))
        peer.environment.send(1, Pull(event=event.number))

    def deliver(peer: Diary, sender: int, message: Message) -> None:
        if isinstance(message, EventData):
            peer.environment.deliver(Event(message.event, 0, 7, hops=3))

    diary.on_publish = staticmethod(publish)
    diary.on_message = staticmethod(deliver)
    outcome = publish_once(diary, tmp_path)
    (span,) = [span for span in outcome.spans if span.attributes.get(names.DELIVERED)]
    assert (span.name, span.attributes[names.HOPS]) == ("EventData", 3)
    assert outcome.deliveries() == {(0, 1): 1}


def test_spans_say_who_is_interested_at_the_time(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))
    publications = [(at, 0, 7) for at in (1.0, 3.0, 5.0)]
    plan = make_plan(2, both_up(10.0), [(1, 7, 2.0, 4.0)], publications)
    outcome = run(diary_spec(), plan, tmp_path)
    told = sorted((s.end, s.attributes[names.INTERESTED]) for s in outcome.spans if s.name == "Notification")
    assert [interested for _, interested in told] == [False, True, False]


def test_interests_of_an_earlier_life_are_forgotten(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))
    plan = make_plan(2, [(0, 0.0, 10.0), (1, 0.0, 1.0), (1, 3.0, 10.0)], [(1, 7, 0.0, 2.0)], [(4.0, 0, 7)])
    outcome = run(diary_spec(), plan, tmp_path)
    (span,) = [span for span in outcome.spans if span.name == "Notification"]
    assert not span.attributes[names.INTERESTED]


def test_operations_of_the_plan_reach_the_protocol_in_order(diary: type[Diary], tmp_path: Path) -> None:
    subscriptions = [
        (0, 7, 0.0, 10.0),
        (0, 8, 0.0, 4.0),
        (0, 9, 5.0, 6.0),
        (0, 3, 0.5, 1.0),
        (0, 4, 0.5, 10.0),
    ]
    plan = make_plan(2, [(0, 2.0, 10.0), (1, 0.0, 10.0)], subscriptions, [(1.5, 0, 7), (4.5, 0, 7)])
    published: list[float] = []
    diary.on_publish = staticmethod(lambda peer, event: published.append(peer.environment.now))
    outcome = run(diary_spec(), plan, tmp_path)
    (peer,) = [peer for peer in diary.lives if peer.peer == 0]
    interests = [(what, at, interest.topic) for what, at, interest in peer.interests]  # type: ignore[union-attr]
    assert sorted(interests[:3]) == [("subscribe", 2.0, topic) for topic in (4, 7, 8)]
    assert interests[3:] == [("unsubscribe", 4.0, 8), ("subscribe", 5.0, 9), ("unsubscribe", 6.0, 9)]
    assert published == [4.5]
    operations = sorted((s.start, s.name) for s in outcome.spans if s.attributes[names.PEER] == 0)
    assert operations == [
        (2.0, "join"),
        (4.0, "unsubscribe"),
        (4.5, "publish"),
        (5.0, "subscribe"),
        (6.0, "unsubscribe"),
    ]


def test_loss_drops_about_its_share_and_nobody_is_told(diary: type[Diary], tmp_path: Path) -> None:
    def flood(peer: Diary) -> None:
        for _ in range(2000):
            peer.environment.send(1 - peer.peer, Pull())

    diary.on_start = staticmethod(lambda peer: peer.environment.set_timer(1.0, lambda: flood(peer)))
    run(diary_spec(network={"loss": 0.2}), make_plan(2, both_up(10.0)), tmp_path)
    arrived = sum(len(peer.received) for peer in diary.lives)
    assert arrived / 4000 == pytest.approx(0.8, abs=0.03)
    assert all(not peer.unreachable for peer in diary.lives)


def test_jitter_only_adds(diary: type[Diary], tmp_path: Path) -> None:
    def flood(peer: Diary) -> None:
        for _ in range(200):
            peer.environment.send(1 - peer.peer, Pull())

    diary.on_start = staticmethod(lambda peer: peer.environment.set_timer(1.0, lambda: flood(peer)))
    run(diary_spec(network={"jitter": "10 ms"}), make_plan(2, both_up(10.0)), tmp_path)
    delays = [at - 1.0 for peer in diary.lives for at, _, _ in peer.received]
    assert min(delays) >= LATENCY
    assert max(delays) > LATENCY + 0.010


def test_sent_messages_are_counted_and_told(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_publish = staticmethod(lambda peer, event: peer.environment.send(1, Notification(event=0)))
    diary.on_start = staticmethod(lambda peer: peer.environment.every(1.0, lambda: None))
    outcome = publish_once(diary, tmp_path)
    assert outcome.fidelity.measured["messages"] == 1
    assert outcome.fidelity.valid
    assert outcome.directory.fidelity.exists()


def test_messages_and_timers_at_one_time_keep_their_order(diary: type[Diary], tmp_path: Path) -> None:
    order: list[int] = []

    def set_timers(peer: Diary) -> None:
        for number in range(50):
            peer.environment.set_timer(3.0, lambda number=number: order.append(number))  # type: ignore[misc]

    diary.on_start = staticmethod(set_timers)
    run(diary_spec(), make_plan(2, [(0, 0.0, 10.0)]), tmp_path)
    assert order == list(range(50))


def test_timers_of_any_delay_fire_in_order_of_time(diary: type[Diary], tmp_path: Path) -> None:
    fired: list[tuple[float, float]] = []

    def set_timers(peer: Diary) -> None:
        def chain(left: int) -> None:
            delay = peer.environment.random.choice([0.0, 1e-9, 0.001, 0.3, 1.0, 2.5])
            due = peer.environment.now + delay

            def fire() -> None:
                fired.append((due, peer.environment.now))
                if left:
                    chain(left - 1)

            peer.environment.set_timer(delay, fire)

        for _ in range(200):
            chain(5)

    diary.on_start = staticmethod(set_timers)
    run(diary_spec(1 + 1, 30.0), make_plan(2, both_up(30.0)), tmp_path)
    assert len(fired) == 2 * 200 * 6
    assert all(due == now for due, now in fired)
    assert [now for _, now in fired] == sorted(now for _, now in fired)


def test_nothing_happens_after_the_end(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.every(0.5, peer.tick))
    plan: Plan = make_plan(2, both_up(10.0))
    run(diary_spec(end=3.25), plan, tmp_path)
    assert all(tick <= 3.25 for peer in diary.lives for tick in peer.ticks)
