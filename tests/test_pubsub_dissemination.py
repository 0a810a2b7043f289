"""Notification, then pull (Vitis, section III.C)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from fake_environment import FakeEnvironment, Sent
from hypothesis import given
from hypothesis import strategies as st

from emulator.contract.protocol import Event
from emulator.messages.message import Message
from emulator.protocols.pubsub.shared.dissemination import Dissemination
from trellis.v1.pubsub import EventData, Notification, Pull

SELF, PUBLISHER, TOPIC, EVENT = 50, 9, 7, 33
PULL_TIMEOUT = 2.0


class Peer:
    """The dissemination under test, with fixed neighbours for every topic."""

    def __init__(self, targets: Iterable[int] = (), interested: bool = True) -> None:
        self.environment = FakeEnvironment(SELF)
        self.dissemination = Dissemination(
            self.environment,
            targets=lambda topic: targets,
            interested=lambda topic: interested,
            pull_timeout=PULL_TIMEOUT,
        )

    def receive(self, sender: int, message: Message) -> None:
        self.environment.hand_over(sender, message)

    def pulled_from(self) -> list[int]:
        return [peer for peer, _ in self.environment.take(Pull)]

    def sent(self) -> list[tuple[int, Message]]:
        return [(sent.peer, sent.message) for sent in self.environment.outbox]

    @property
    def delivered(self) -> list[Event]:
        return self.environment.delivered


def notification(hops: int = 1, event: int = EVENT) -> Notification:
    return Notification(event=event, topic=TOPIC, publisher=PUBLISHER, hops=hops)


def data(hops: int = 1, event: int = EVENT) -> EventData:
    return EventData(event=event, topic=TOPIC, publisher=PUBLISHER, hops=hops, payload=b"news")


def test_a_publisher_notifies_its_targets_and_delivers_to_itself() -> None:
    peer = Peer(targets=[1, 2])
    peer.dissemination.publish(data(hops=0))
    assert peer.sent() == [(1, notification(hops=1)), (2, notification(hops=1))]
    assert peer.delivered == [Event(EVENT, PUBLISHER, TOPIC, payload=b"news", hops=0)]


def test_a_notified_peer_pulls_from_the_sender_and_notifies_the_others() -> None:
    peer = Peer(targets=[1, 2, 3])
    peer.receive(2, notification(hops=4))
    assert peer.sent() == [
        (2, Pull(event=EVENT)),
        (1, notification(hops=5)),
        (3, notification(hops=5)),
    ]


def test_the_pulled_event_is_delivered_with_its_hops() -> None:
    peer = Peer()
    peer.receive(2, notification(hops=4))
    peer.receive(2, data(hops=4))
    assert peer.delivered == [Event(EVENT, PUBLISHER, TOPIC, payload=b"news", hops=4)]


def test_a_relay_passes_on_what_it_does_not_deliver() -> None:
    peer = Peer(targets=[1, 2], interested=False)
    peer.receive(2, notification())
    peer.receive(1, Pull(event=EVENT))
    peer.receive(2, data())
    assert peer.delivered == []
    assert peer.environment.take(EventData) == [(1, data(hops=2))]


def test_a_pull_is_answered_with_one_hop_more() -> None:
    peer = Peer()
    peer.dissemination.publish(data(hops=3))
    peer.receive(1, Pull(event=EVENT))
    assert peer.environment.take(EventData) == [(1, data(hops=4))]


def test_a_pull_before_the_event_is_here_is_answered_on_arrival() -> None:
    peer = Peer()
    peer.receive(2, notification())
    peer.receive(1, Pull(event=EVENT))
    peer.receive(3, Pull(event=EVENT))
    assert peer.environment.take(EventData) == []
    peer.receive(2, data(hops=1))
    assert peer.environment.take(EventData) == [(1, data(hops=2)), (3, data(hops=2))]


def test_who_pulls_twice_while_it_waits_gets_the_event_once() -> None:
    peer = Peer()
    peer.receive(2, notification())
    peer.receive(1, Pull(event=EVENT))
    peer.receive(1, Pull(event=EVENT))
    peer.receive(2, data(hops=1))
    assert peer.environment.take(EventData) == [(1, data(hops=2))]


def test_an_awaited_event_that_is_forgotten_leaves_no_timer_behind() -> None:
    peer = Peer()
    for event in range(10_010):
        peer.receive(2, notification(event=event))
    assert sum(timer.callback is not None for timer in peer.environment.timers) == 10_000


def test_a_pull_of_an_unknown_event_is_not_answered() -> None:
    peer = Peer()
    peer.receive(1, Pull(event=EVENT))
    assert not peer.environment.outbox


def test_the_event_is_asked_for_once_while_it_is_on_its_way() -> None:
    peer = Peer(targets=[1])
    peer.receive(2, notification())
    peer.environment.outbox.clear()
    peer.receive(3, notification())
    peer.receive(2, notification())
    assert not peer.environment.outbox


@pytest.mark.parametrize("how", ["unreachable", "timeout"])
def test_the_event_is_pulled_elsewhere_when_its_source_does_not_answer(how: str) -> None:
    peer = Peer()
    for sender in (2, 3, 4):
        peer.receive(sender, notification())
    assert peer.pulled_from() == [2]
    for source in (2, 3):
        if how == "unreachable":
            peer.dissemination.on_unreachable(source)
        else:
            peer.environment.advance(PULL_TIMEOUT)
        assert peer.pulled_from() == [source + 1]


def test_a_silent_source_is_asked_again_but_not_for_ever() -> None:
    peer = Peer()
    peer.receive(2, notification())
    asked = peer.pulled_from()
    for _ in range(20):
        peer.environment.advance(PULL_TIMEOUT)
        asked += peer.pulled_from()
    assert 2 <= len(asked) <= 5
    assert set(asked) == {2}


def test_who_is_unreachable_but_was_not_asked_changes_nothing() -> None:
    peer = Peer()
    for sender in (2, 3):
        peer.receive(sender, notification())
    peer.environment.outbox.clear()
    peer.dissemination.on_unreachable(8)
    assert not peer.environment.outbox


def test_a_later_notification_is_a_source_when_all_others_failed() -> None:
    peer = Peer()
    peer.receive(2, notification())
    peer.dissemination.on_unreachable(2)
    peer.environment.outbox.clear()
    peer.receive(3, notification())
    assert peer.pulled_from() == [3]


def test_what_cannot_be_pulled_now_is_pulled_from_whoever_notifies_later() -> None:
    """The notice that the source is gone comes in whatever context; the event is had all the same."""
    peer = Peer(targets=[1])
    peer.receive(2, notification())
    peer.receive(1, Pull(event=EVENT))
    peer.dissemination.on_unreachable(2)
    peer.environment.outbox.clear()
    peer.receive(3, notification())
    assert peer.pulled_from() == [3]
    peer.receive(3, data())
    assert len(peer.delivered) == 1
    assert peer.environment.take(EventData) == [(1, data(hops=2))]


def test_an_event_that_comes_whole_is_not_pulled_any_more() -> None:
    """It was notified of and then routed here."""
    peer = Peer(targets=[1])
    peer.receive(2, notification())
    peer.environment.outbox.clear()
    peer.dissemination.publish(data(hops=3))
    peer.environment.advance(10 * PULL_TIMEOUT)
    assert not peer.environment.outbox
    assert [event.hops for event in peer.delivered] == [3]


def test_no_pull_is_repeated_once_the_event_is_here() -> None:
    peer = Peer()
    for sender in (2, 3):
        peer.receive(sender, notification())
    peer.receive(2, data())
    peer.environment.outbox.clear()
    peer.environment.advance(10 * PULL_TIMEOUT)
    peer.dissemination.on_unreachable(2)
    assert not peer.environment.outbox


def test_publishing_what_is_here_already_does_nothing() -> None:
    peer = Peer(targets=[1])
    peer.dissemination.publish(data(hops=0))
    peer.environment.outbox.clear()
    peer.dissemination.publish(data(hops=2))
    assert not peer.environment.outbox
    assert len(peer.delivered) == 1


SENDERS = st.integers(1, 4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("notification"), SENDERS),
        st.tuples(st.just("data"), SENDERS),
        st.tuples(st.just("pull"), SENDERS),
        st.tuples(st.just("unreachable"), SENDERS),
        st.tuples(st.just("time"), SENDERS),
    ),
    max_size=30,
)


@given(STEPS)
def test_an_event_is_delivered_at_most_once_in_any_order_of_messages(steps: list[tuple[str, int]]) -> None:
    """And at all if it came; each peer is notified once; who pulled gets it."""
    peer = Peer(targets=[1, 2, 3, 4])
    came, pulls = False, set()
    known = False
    for step, sender in steps:
        match step:
            case "notification":
                peer.receive(sender, notification())
                known = True
            case "data":
                peer.receive(sender, data())
                came = known = True
            case "pull":
                peer.receive(sender, Pull(event=EVENT))
                if known:
                    pulls.add(sender)
            case "unreachable":
                peer.dissemination.on_unreachable(sender)
            case "time":
                peer.environment.advance(1.0)
    assert len(peer.delivered) == came
    sent = peer.sent()
    notified = [receiver for receiver, message in sent if isinstance(message, Notification)]
    assert len(notified) == len(set(notified))
    assert {receiver for receiver, message in sent if isinstance(message, EventData)} == (
        pulls if came else set()
    )


class Crowd:
    """Peers on a graph; messages arrive in an order that the test draws."""

    def __init__(self, links: set[tuple[int, int]]) -> None:
        self.peers = sorted({peer for link in links for peer in link})
        near = {
            peer: sorted({b for a, b in links if a == peer} | {a for a, b in links if b == peer})
            for peer in self.peers
        }
        self.environments = {peer: FakeEnvironment(peer) for peer in self.peers}
        self.parts = {
            peer: Dissemination(
                environment,
                targets=lambda topic, near=near[peer]: near,  # type: ignore[misc]
                interested=lambda topic: True,
                pull_timeout=PULL_TIMEOUT,
            )
            for peer, environment in self.environments.items()
        }

    def run(self, draw: st.DataObject) -> None:
        flying: list[tuple[int, Sent]] = []
        while True:
            for sender, environment in self.environments.items():
                flying += [(sender, sent) for sent in environment.outbox]
                environment.outbox.clear()
            if not flying:
                break
            sender, sent = flying.pop(draw.draw(st.integers(0, min(len(flying) - 1, 9))))
            self.environments[sent.peer].hand_over(sender, sent.message)


@st.composite
def connected_graphs(draw: st.DrawFn) -> set[tuple[int, int]]:
    size = draw(st.integers(2, 9))
    tree = {(peer, draw(st.integers(0, peer - 1))) for peer in range(1, size)}
    more = draw(st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=8))
    return tree | {(a, b) for a, b in more if a != b}


@given(connected_graphs(), st.data())
def test_everybody_gets_the_event_once_whatever_the_order_of_messages(
    links: set[tuple[int, int]], draw: st.DataObject
) -> None:
    crowd = Crowd(links)
    crowd.parts[0].publish(EventData(event=EVENT, topic=TOPIC, publisher=0, payload=b"news"))
    crowd.run(draw)
    for peer, environment in crowd.environments.items():
        (event,) = environment.delivered
        assert event.payload == b"news"
        assert (event.hops == 0) == (peer == 0)
        assert event.hops < len(crowd.peers)
