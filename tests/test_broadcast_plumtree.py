"""Plumtree pushes over a tree that it prunes and grafts, and announces over all other links."""

from __future__ import annotations

from typing import Any

from fake_environment import FakeEnvironment, Lockstep

from emulator.contract.protocol import Contact, Event
from emulator.contract.registry import SYSTEMS
from emulator.protocols.broadcast.plumtree import Plumtree
from trellis.v1.broadcast import BroadcastEvent
from trellis.v1.plumtree import PlumtreeGraft, PlumtreeIHave, PlumtreePrune

SYSTEM = SYSTEMS["plumtree-hyparview"]


def one(*neighbours: int, **fields: Any) -> tuple[FakeEnvironment, Plumtree]:
    """Make peer 0 with these neighbours, all of them eager."""
    environment = FakeEnvironment(0)
    found = SYSTEM.create(environment, SYSTEM.parameters.model_validate(fields))
    assert isinstance(found, Plumtree)
    for peer in neighbours:
        found.neighbour_changed(Contact(peer), True)
    return environment, found


def eager(peer: Any) -> list[int]:
    return list(peer.neighbours()["eager"])


def copy(number: int, hops: int = 1) -> BroadcastEvent:
    return BroadcastEvent(number, 9, hops, b"abc")


def receivers(environment: FakeEnvironment) -> dict[str, list[int]]:
    """Return who was sent what since the last call."""
    found: dict[str, list[int]] = {}
    for sent in environment.fake.empty_outbox():
        found.setdefault(sent.message.NAME, []).append(sent.peer)
    return found


def test_a_new_message_is_delivered_and_pushed_to_all_eager_neighbours_but_the_sender() -> None:
    environment, _ = one(1, 2, 3)
    environment.hand_over(1, copy(5, hops=4))
    assert environment.delivered == [Event(5, 9, payload=b"abc", hops=4)]
    pushed = environment.take(BroadcastEvent)
    assert [(peer, message.hops) for peer, message in pushed] == [(2, 5), (3, 5)]


def test_a_second_copy_prunes_its_link_and_is_not_delivered() -> None:
    environment, peer = one(1, 2, 3)
    environment.hand_over(1, copy(5))
    environment.fake.empty_outbox()
    environment.hand_over(2, copy(5))
    assert receivers(environment) == {"PlumtreePrune": [2]}
    assert eager(peer) == [1, 3]
    assert len(environment.delivered) == 1


def test_a_pruned_link_gets_announcements_instead() -> None:
    environment, _ = one(1, 2, 3)
    environment.hand_over(2, PlumtreePrune())
    environment.hand_over(1, copy(5, hops=2))
    ((peer, announced),) = environment.take(PlumtreeIHave)
    assert (peer, announced.events, announced.hops) == (2, [5], [3])


def test_a_message_from_a_lazy_neighbour_makes_its_link_eager() -> None:
    environment, peer = one(1, 2)
    environment.hand_over(2, PlumtreePrune())
    environment.hand_over(2, copy(5))
    assert eager(peer) == [1, 2]


def test_an_announced_message_that_does_not_come_is_grafted_from_one_announcer_after_the_other() -> None:
    environment, peer = one(1, 2, 3)
    for each in (1, 2):
        environment.hand_over(each, PlumtreePrune())
        environment.hand_over(each, PlumtreeIHave([5], [2]))
    environment.advance(1.9)
    assert receivers(environment) == {}
    environment.advance(0.2)
    ((asked, graft),) = environment.take(PlumtreeGraft)
    assert (asked, graft.event, graft.resend) == (1, 5, True)
    assert eager(peer) == [3, 1]
    environment.advance(1.0)
    assert receivers(environment) == {"PlumtreeGraft": [2]}
    environment.advance(10.0)
    assert receivers(environment) == {}


def test_a_message_that_comes_in_time_is_not_grafted() -> None:
    environment, _ = one(1, 2)
    environment.hand_over(1, PlumtreeIHave([5], [2]))
    environment.hand_over(2, copy(5))
    environment.advance(10.0)
    assert "PlumtreeGraft" not in receivers(environment)


def test_an_announcement_of_a_neighbour_that_went_is_forgotten() -> None:
    environment, peer = one(1, 2)
    environment.hand_over(1, PlumtreeIHave([5], [2]))
    peer.neighbour_changed(Contact(1), False)
    environment.advance(10.0)
    assert receivers(environment) == {}


def test_a_graft_is_answered_with_the_message_and_makes_the_link_eager() -> None:
    environment, peer = one(1, 2)
    peer.publish(Event(5, 0, payload=b"xyz"))
    environment.hand_over(1, PlumtreePrune())
    environment.fake.empty_outbox()
    environment.hand_over(1, PlumtreeGraft(5, True))
    assert environment.take(BroadcastEvent) == [(1, BroadcastEvent(5, 0, 1, b"xyz"))]
    assert eager(peer) == [2, 1]
    environment.hand_over(1, PlumtreeGraft(77, True))
    assert receivers(environment) == {}


def test_with_a_threshold_a_link_is_replaced_by_one_with_fewer_hops() -> None:
    for threshold, replaced in ((0, False), (2, True), (3, False)):
        environment, peer = one(1, 2, threshold=threshold)
        environment.hand_over(1, PlumtreePrune())
        environment.hand_over(1, PlumtreeIHave([5], [2]))
        environment.hand_over(2, copy(5, hops=4))
        sent = receivers(environment)
        assert (sent.get("PlumtreeGraft"), sent.get("PlumtreePrune")) == (
            ([1], [2]) if replaced else (None,) * 2
        )
        assert eager(peer) == ([1] if replaced else [2])


def test_announcements_wait_for_others_to_the_same_neighbour() -> None:
    environment, _ = one(1, 2, announce_interval="0.5 s")
    environment.hand_over(2, PlumtreePrune())
    for number in (5, 6):
        environment.hand_over(1, copy(number, hops=number))
    environment.advance(0.4)
    assert environment.take(PlumtreeIHave) == []
    environment.advance(0.2)
    ((peer, announced),) = environment.take(PlumtreeIHave)
    assert (peer, announced.events, announced.hops) == (2, [5, 6], [6, 7])


def test_the_first_message_floods_all_links_and_the_next_ones_go_over_a_tree() -> None:
    parameters = SYSTEM.parameters.model_validate({"membership": {"period": "1 s", "keepalive": "1 s"}})
    found = Lockstep(lambda environment: SYSTEM.create(environment, parameters), range(40))
    found.start(contacts=1)
    for _ in range(12):
        found.round()
    links: Any = found.protocols
    ends = sum(len(peer.links) for peer in links.values())
    for number in range(3):
        found.sent.clear()
        links[7].publish(Event(number, 7, payload=b"abc"))
        found.exchange()
        copies = sum(isinstance(message, BroadcastEvent) for _, _, message in found.sent)
        changes = sum(isinstance(message, (PlumtreeGraft, PlumtreePrune)) for _, _, message in found.sent)
        assert copies == (39 if number else ends - 39)
        assert changes == (0 if number else copies - 39)
    delivered = [len(environment.delivered) for environment in found.environments.values()]
    assert sum(delivered) == 3 * 39
