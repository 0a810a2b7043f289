"""HyParView keeps small symmetric active views full, and replaces who fails from passive views."""

from __future__ import annotations

from typing import Any

from fake_environment import FakeEnvironment, Lockstep

from emulator.protocols.gossip.hyparview.membership import HyParView
from emulator.protocols.gossip.hyparview.parameters import HyParViewParameters
from emulator.protocols.gossip.hyparview.passive_view import PassiveView
from trellis.v1.hyparview import (
    HyParViewDisconnect,
    HyParViewForwardJoin,
    HyParViewJoin,
    HyParViewKeepAlive,
    HyParViewNeighbor,
    HyParViewNeighborReply,
    HyParViewShuffle,
    HyParViewShuffleReply,
)


def one(*contacts: int, **fields: Any) -> tuple[FakeEnvironment, HyParView]:
    """Make peer 0, which has joined through a contact; its outbox is empty."""
    environment = FakeEnvironment(0)
    membership = HyParView(environment, HyParViewParameters.model_validate(fields))
    membership.start(contacts)
    environment.fake.empty_outbox()
    return environment, membership


def active(membership: Any) -> list[int]:
    return list(membership.neighbours()["active"])


def with_neighbours(count: int, **fields: Any) -> tuple[FakeEnvironment, HyParView]:
    """Make peer 0 with the neighbours 1, 2, ..., which all joined through it."""
    environment, membership = one(**fields)
    for peer in range(1, count + 1):
        environment.hand_over(peer, HyParViewJoin())
    environment.fake.empty_outbox()
    return environment, membership


def requests(environment: FakeEnvironment) -> list[tuple[int, HyParViewNeighbor, int]]:
    """Take the requests to become a neighbour, with their numbers."""
    sent = environment.fake.empty_outbox()
    return [(s.peer, s.message, s.request) for s in sent if isinstance(s.message, HyParViewNeighbor)]


def world(peers: int, rounds: int = 12, **fields: Any) -> Lockstep:
    parameters = HyParViewParameters.model_validate({"period": "1 s", "keepalive": "1 s"} | fields)
    found = Lockstep(lambda environment: HyParView(environment, parameters), range(peers))
    found.start(contacts=1)
    for _ in range(rounds):
        found.round()
    return found


def test_a_contact_takes_a_newcomer_in_and_starts_a_walk_from_each_other_neighbour() -> None:
    environment, membership = with_neighbours(2)
    environment.hand_over(9, HyParViewJoin())
    assert active(membership) == [1, 2, 9]
    walks = environment.take(HyParViewForwardJoin)
    assert [(peer, walk.newcomer, walk.ttl) for peer, walk in walks] == [(1, 9, 6), (2, 9, 6)]


def test_a_full_contact_disconnects_a_random_neighbour_for_a_newcomer_and_keeps_it_in_the_passive_view() -> (
    None
):
    environment, membership = with_neighbours(5)
    environment.hand_over(9, HyParViewJoin())
    (told,) = environment.take(HyParViewDisconnect)
    assert told[0] in range(1, 6)
    assert sorted([*active(membership), told[0]]) == [1, 2, 3, 4, 5, 9]
    assert membership.sample(6)[-1] == told[0]


def test_a_walk_goes_on_to_a_neighbour_that_it_did_not_come_from_and_enters_a_passive_view_on_its_way() -> (
    None
):
    environment, membership = with_neighbours(2)
    environment.hand_over(1, HyParViewForwardJoin(9, 3))
    ((peer, walk),) = environment.take(HyParViewForwardJoin)
    assert (peer, walk.newcomer, walk.ttl) == (2, 9, 2)
    assert membership.gauges()["passive"] == 1


def test_a_walk_ends_where_no_steps_are_left_or_a_peer_has_one_neighbour() -> None:
    for neighbours, ttl in ((3, 0), (1, 6)):
        environment, membership = with_neighbours(neighbours)
        environment.hand_over(1, HyParViewForwardJoin(9, ttl))
        ((peer, asked, number),) = requests(environment)
        assert (peer, asked.high_priority) == (9, True)
        environment.hand_over(9, HyParViewNeighborReply(True), request=-number)
        assert 9 in active(membership)


def test_a_full_view_accepts_high_priority_alone() -> None:
    environment, membership = with_neighbours(5)
    environment.hand_over(8, HyParViewNeighbor(False), request=1)
    assert [reply.accepted for _, reply in environment.take(HyParViewNeighborReply)] == [False]
    environment.hand_over(8, HyParViewNeighbor(True), request=2)
    assert 8 in active(membership)
    assert len(active(membership)) == 5


def test_a_failed_neighbour_is_replaced_from_the_passive_view_until_one_accepts() -> None:
    environment, membership = with_neighbours(5)
    environment.hand_over(1, HyParViewShuffle(7, 1, [7, 8, 9]))
    environment.fake.empty_outbox()
    environment.fail(5)
    asked = []
    for accepted in (False, False, True):
        ((peer, neighbor, number),) = requests(environment)
        assert not neighbor.high_priority
        asked.append(peer)
        environment.hand_over(peer, HyParViewNeighborReply(accepted), request=-number)
    assert sorted(asked) == [7, 8, 9]
    assert active(membership) == [1, 2, 3, 4, asked[-1]]
    assert membership.gauges()["passive"] == 2
    assert requests(environment) == []


def test_a_peer_that_does_not_answer_leaves_the_passive_view() -> None:
    environment, membership = with_neighbours(1)
    environment.hand_over(1, HyParViewShuffle(7, 1, [7]))
    environment.fake.empty_outbox()
    environment.fail(1)
    ((peer, neighbor, _),) = requests(environment)
    assert (peer, neighbor.high_priority) == (7, True)
    environment.advance(2.0)
    assert membership.gauges()["passive"] == 0


def test_only_with_refill_a_slot_that_a_disconnect_freed_is_filled() -> None:
    for refill in (True, False):
        environment, _ = with_neighbours(5, refill=refill)
        environment.hand_over(1, HyParViewShuffle(7, 1, [7]))
        environment.fake.empty_outbox()
        environment.hand_over(2, HyParViewDisconnect())
        assert [peer for peer, _, _ in requests(environment)] == ([7] if refill else [])
        environment.fail(3)
        assert len(requests(environment)) == (0 if refill else 1)


def test_a_shuffle_tells_of_the_sender_and_of_both_views_and_walks_on() -> None:
    environment, _ = with_neighbours(5)
    environment.hand_over(1, HyParViewShuffle(10, 1, [10, 11, 12, 13, 14]))
    environment.fake.empty_outbox()
    environment.advance(10.0)
    ((_, shuffle),) = environment.take(HyParViewShuffle)
    assert (shuffle.origin, shuffle.ttl, shuffle.peers[0]) == (0, 6, 0)
    assert len(set(shuffle.peers[1:4]) & set(range(1, 6))) == 3
    assert len(set(shuffle.peers[4:]) & set(range(10, 15))) == 4
    environment.hand_over(1, HyParViewShuffle(20, 2, [20]))
    ((peer, onward),) = environment.take(HyParViewShuffle)
    assert peer != 1
    assert (onward.origin, onward.ttl) == (20, 1)


def test_who_takes_a_shuffle_answers_with_as_many_passive_peers_which_leave_first_if_there_is_no_room() -> (
    None
):
    environment, membership = with_neighbours(2, passive=3)
    environment.hand_over(1, HyParViewShuffle(10, 1, [10, 11, 12]))
    environment.fake.empty_outbox()
    environment.hand_over(1, HyParViewShuffle(20, 1, [20, 21]))
    ((peer, reply),) = environment.take(HyParViewShuffleReply)
    assert peer == 20
    assert len(reply.peers) == 2
    (left,) = {10, 11, 12} - set(reply.peers)
    assert set(membership.sample(5)[2:]) == {left, 20, 21}


def test_who_begins_a_shuffle_gives_up_what_it_told_of_first() -> None:
    view = PassiveView(3, FakeEnvironment(0).random)
    for peer in (1, 2, 3):
        view.add(peer)
    view.integrate([4, 1, 5], [2, 3])
    assert sorted(view.sample(9)) == [1, 4, 5]


def test_a_silent_connection_is_given_up_and_one_that_the_other_side_lacks_is_closed() -> None:
    environment, membership = with_neighbours(2, keepalive="1 s", silent_keepalives=2)
    for _ in range(4):
        environment.advance(1.0)
        environment.hand_over(1, HyParViewKeepAlive())
    assert active(membership) == [1]
    environment.fake.empty_outbox()
    environment.hand_over(2, HyParViewKeepAlive())
    assert [peer for peer, _ in environment.take(HyParViewDisconnect)] == [2]


def test_without_keepalives_nothing_is_sent_over_an_idle_connection() -> None:
    environment, _ = with_neighbours(2, keepalive="0 s")
    environment.advance(100.0)
    assert environment.take(HyParViewKeepAlive) == []


def test_a_peer_that_has_lost_all_asks_the_bootstrap_service_and_joins_again() -> None:
    environment, membership = one(1)
    environment.fail(1)
    environment.advance(10.0)
    environment.asked_for_contacts.pop()([3])
    assert [peer for peer, _ in environment.take(HyParViewJoin)] == [3]
    assert active(membership) == [3]


def test_active_views_are_symmetric_and_full_and_whole_again_after_a_third_crashed() -> None:
    found = world(60)
    links = {peer: set(active(membership)) for peer, membership in found.protocols.items()}
    assert all(peer in links[other] for peer, others in links.items() for other in others)
    assert sum(map(len, links.values())) >= 60 * 4.9
    found.crash(range(0, 60, 3))
    for _ in range(6):
        found.round()
    links = {peer: set(active(membership)) for peer, membership in found.protocols.items()}
    assert all(peer in links[other] for peer, others in links.items() for other in others)
    assert sum(map(len, links.values())) >= 40 * 4.8
    reached, waiting = {1}, [1]
    while waiting:
        new = links[waiting.pop()] - reached
        reached |= new
        waiting += new
    assert len(reached) == 40
