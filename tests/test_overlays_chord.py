"""Chord: intervals that wrap around, the rings of the papers with exact fingers and routes, and one peer."""

from __future__ import annotations

import pytest
from chord_world import ChordWorld, numbers, parameters
from fake_environment import FakeEnvironment
from hypothesis import given
from hypothesis import strategies as st
from lookup_world import Passes

from emulator.contract.identifiers import ClockwiseRing
from emulator.protocols.overlays.chord import Chord
from emulator.protocols.overlays.chord.intervals import between, up_to
from emulator.protocols.overlays.chord.successor_list import SuccessorList
from trellis.v1.chord import (
    Alive,
    CheckPredecessor,
    FindSuccessor,
    Forwarded,
    NextNode,
    Notify,
    RingDeparture,
    RingNeighbours,
    Stabilize,
    Taken,
)
from trellis.v1.overlay import Contact, LookupRequest

PAPER = [1, 8, 14, 21, 32, 38, 42, 48, 51, 56]
"""The ring of ToN 2003, figures 2 to 5, on a circle of 6 bits."""
EIGHT = [3, 9, 17, 20, 35, 44, 50, 61]
small = st.integers(0, 15)


@given(small, small, small)
def test_intervals_are_what_one_meets_on_the_way_round(begin: int, identifier: int, end: int) -> None:
    way = [(begin + step) % 16 for step in range(1, 17)]
    inside = way[: way.index(end)]
    assert between(begin, identifier, end, 15) == (identifier in inside)
    assert up_to(begin, identifier, end, 15) == (identifier in [*inside, end])


def test_the_finger_table_of_the_paper() -> None:
    world = ChordWorld(PAPER, bits=6)
    world.run(20)
    assert not world.wrong()
    assert world.fingers(PAPER.index(8)) == [14, 14, 14, 21, 32, 42]
    assert world.fingers(PAPER.index(42)) == [48, 48, 48, 51, 1, 14]


def test_the_finger_tables_of_the_first_paper() -> None:
    world = ChordWorld([0, 1, 3], bits=3)
    world.run(20)
    assert [world.fingers(peer) for peer in range(3)] == [[1, 3, 0], [3, 3, 0], [0, 0, 0]]


@pytest.mark.parametrize("lookups", ["recursive", "iterative"])
def test_the_lookup_of_the_paper_goes_over_42_and_51(lookups: str) -> None:
    world = ChordWorld(PAPER, bits=6, settings=parameters(lookups=lookups, search="fingers"))
    world.run(20)
    state = world.chords[PAPER.index(8)].state
    way = [PAPER.index(8)]
    while True:
        step = world.chords[way[-1]].state.next_step(54)
        assert step is not None
        way.append(step.contact.peer)
        if step.is_successor:
            break
    assert [PAPER[peer] for peer in way] == [8, 42, 51, 56]
    assert world.look_up(state.me.peer, 54) == [(PAPER.index(56), 3)]


def test_the_successor_list_makes_the_last_hops_one() -> None:
    world = ChordWorld(PAPER, bits=6, settings=parameters(successors=9))
    world.run(20)
    assert world.look_up(PAPER.index(8), 54) == [(PAPER.index(56), 2)]


@pytest.mark.parametrize(("peers", "length"), [(1, 20), (2, 1), (3, 20), (5, 2), (8, 3), (8, 20)])
def test_rings_of_up_to_eight_peers_are_exact(peers: int, length: int) -> None:
    world = ChordWorld(EIGHT[:peers], bits=6, settings=parameters(successors=length))
    world.run(20)
    assert not world.wrong()
    if peers > 1:
        assert [world.fingers(peer) for peer in range(peers)] == [
            world.true_fingers(peer) for peer in range(peers)
        ]
    for peer in range(0, peers, 2):
        for key in (0, 3, 36):
            ((end, hops),) = world.look_up(peer, key)
            assert end == world.successor(key)
            assert hops == 0 if end == peer else hops >= 1


@pytest.mark.parametrize("which", ["random", "round-robin"])
def test_fingers_that_are_fixed_one_by_one_become_exact_too(which: str) -> None:
    world = ChordWorld(EIGHT, bits=6, settings=parameters(fix_fingers=which), started=5)
    world.run(20)
    world.join([5, 6, 7])
    world.run(60)
    assert [world.fingers(peer) for peer in range(8)] == [world.true_fingers(peer) for peer in range(8)]


def test_a_list_ends_where_it_goes_round_and_has_no_more_than_r_peers() -> None:
    successors = SuccessorList(Contact(0, 10), 63, 3)
    assert successors.take([Contact(1, 20), Contact(2, 30), Contact(0, 10), Contact(3, 40)])
    assert numbers(successors) == [1, 2]
    assert successors.take([Contact(1, 20), Contact(2, 15), Contact(3, 40)])
    assert numbers(successors) == [1]
    assert successors.take([Contact(n, 10 + n) for n in range(1, 9)])
    assert numbers(successors) == [1, 2, 3]
    assert not successors.take([Contact(n, 10 + n) for n in range(1, 4)])


class Peer:
    """Peer 0 at 10 on a circle of 6 bits, with successors at 20 and 30 and a predecessor at 60."""

    def __init__(self, **fields: object) -> None:
        self.environment = FakeEnvironment(0)
        self.chord = Chord(
            self.environment, parameters(**{"retries": 0} | fields), space=ClockwiseRing(6), identifier=10
        )
        state = self.state = self.chord.state
        state.successors.take([Contact(1, 20), Contact(2, 30)])
        state.precede(Contact(9, 60))
        state.ready = True
        state.change()

    def ask(self, message: object, sender: int = 5) -> object:
        """Return the answer to a request."""
        self.environment.hand_over(sender, message, request=1)  # type: ignore[arg-type]
        return self.environment.outbox[-1].message

    def answer(self, message: object) -> None:
        """Answer the last request that the peer made."""
        sent = [each for each in self.environment.outbox if each.request > 0][-1]
        self.environment.hand_over(sent.peer, message, request=-sent.request)  # type: ignore[arg-type]

    def asked(self, kind: type) -> list[int]:
        """Return the peers that were sent a message of this class."""
        return [sent.peer for sent in self.environment.outbox if type(sent.message) is kind]


def test_a_peer_answers_with_its_successor_or_the_closest_preceding_node() -> None:
    peer = Peer()
    assert peer.ask(FindSuccessor(15)) == NextNode(10, True, [Contact(1, 20)])
    assert peer.ask(FindSuccessor(20)) == NextNode(10, True, [Contact(1, 20)])
    assert peer.ask(FindSuccessor(21)) == NextNode(10, False, [Contact(1, 20)])
    assert peer.ask(FindSuccessor(40)) == NextNode(10, False, [Contact(2, 30)])
    assert peer.ask(FindSuccessor(40, [2])) == NextNode(10, False, [Contact(1, 20)])
    assert peer.ask(FindSuccessor(15, [1])) == NextNode(10, True, [Contact(2, 30)])
    assert peer.ask(FindSuccessor(40, [1, 2])) == NextNode(10, False, [])


def test_a_newcomer_gets_the_whole_list_of_its_predecessor() -> None:
    found = Peer().ask(FindSuccessor(15, joining=True, control=True))
    assert found == NextNode(10, True, [Contact(1, 20), Contact(2, 30)], True)


def test_stabilize_asks_a_better_successor_before_it_takes_it() -> None:
    peer = Peer()
    peer.chord._stabilization.stabilize()
    peer.answer(RingNeighbours(True, Contact(3, 15), [Contact(2, 30), Contact(4, 40)]))
    assert numbers(peer.state.successors) == [1, 2, 4]
    assert peer.asked(Stabilize) == [1, 3]
    peer.answer(RingNeighbours(True, Contact(0, 10), [Contact(1, 20), Contact(2, 30)]))
    assert numbers(peer.state.successors) == [3, 1, 2]
    assert peer.asked(Notify) == [3]


def test_a_better_successor_that_is_silent_is_not_taken() -> None:
    peer = Peer()
    peer.chord._stabilization.stabilize()
    peer.answer(RingNeighbours(True, Contact(3, 15), [Contact(2, 30)]))
    peer.environment.advance(2)
    assert numbers(peer.state.successors)[0] == 1
    assert peer.asked(Notify) == [1]


def test_a_silent_successor_gives_way_to_the_next_one() -> None:
    peer = Peer()
    peer.chord._stabilization.stabilize()
    peer.environment.advance(2)
    assert peer.asked(Stabilize) == [1, 2]
    assert numbers(peer.state.successors) == [2]


def test_rectify_takes_a_nearer_predecessor_without_asking() -> None:
    peer = Peer()
    peer.environment.hand_over(7, Notify(5))
    assert peer.state.predecessor == Contact(7, 5)
    assert not peer.asked(CheckPredecessor)


@pytest.mark.parametrize("lives", [True, False])
def test_rectify_takes_a_farther_predecessor_only_if_the_present_one_has_failed(lives: bool) -> None:
    peer = Peer()
    peer.environment.hand_over(7, Notify(50))
    assert peer.asked(CheckPredecessor) == [9]
    if lives:
        peer.answer(Alive(True))
    else:
        peer.environment.advance(2)
    assert peer.state.predecessor == (Contact(9, 60) if lives else Contact(7, 50))


def test_notify_alone_never_asks_and_never_takes_a_farther_predecessor() -> None:
    peer = Peer(predecessor="notify")
    peer.environment.hand_over(7, Notify(50))
    peer.chord._stabilization.round()
    assert not peer.asked(CheckPredecessor)
    assert peer.state.predecessor == Contact(9, 60)


def test_check_predecessor_forgets_one_that_is_silent() -> None:
    peer = Peer(predecessor="check")
    peer.chord._stabilization.round()
    peer.environment.advance(2)
    assert peer.state.predecessor is None


def test_a_departure_closes_the_ring() -> None:
    peer = Peer()
    peer.environment.hand_over(1, RingDeparture(Contact(0, 10), Contact(4, 40)))
    assert numbers(peer.state.successors) == [2, 4]
    peer.environment.hand_over(9, RingDeparture(Contact(8, 55), Contact(2, 30)))
    assert peer.state.predecessor == Contact(8, 55)


@pytest.mark.parametrize("drop", [True, False])
def test_a_message_goes_around_a_silent_peer_which_is_told_and_dropped_if_asked(drop: bool) -> None:
    peer = Peer(drop_silent=drop)
    peer.chord.carry(Passes(), LookupRequest)
    peer.chord.route(40, LookupRequest(1))
    peer.environment.advance(2)
    sent = [
        (each.peer, each.message.hops)
        for each in peer.environment.outbox
        if isinstance(each.message, Forwarded)
    ]
    assert sent == [(2, 1), (1, 1)]
    assert [(told.name, told.subject) for told in peer.environment.recorded] == [("hop_timeout", 2)]
    assert numbers(peer.state.successors) == ([1] if drop else [1, 2])


def test_a_lost_message_to_the_successor_of_its_key_is_repeated() -> None:
    peer = Peer(retries=1)
    peer.chord.carry(Passes(), LookupRequest)
    peer.chord.route(15, LookupRequest(1))
    peer.environment.advance(4)
    assert peer.asked(Forwarded) == [1, 1, 2]
    assert numbers(peer.state.successors) == [1, 2]
    assert peer.asked(Stabilize)[-1] == 1


def test_the_successor_of_a_key_delivers_once_however_often_a_message_comes() -> None:
    peer = Peer()
    application = Passes()
    peer.chord.carry(application, LookupRequest)
    message = Forwarded(5, Contact(4, 40), 3, LookupRequest(1), 7, True)
    assert [peer.ask(message), peer.ask(message)] == [Taken(), Taken()]
    assert application.delivered == [(5, 3)]


def test_a_peer_on_no_ring_refuses_and_says_so() -> None:
    peer = Peer()
    peer.state.clear()
    assert peer.ask(Forwarded(5, Contact(4, 40), 3, LookupRequest(1), 7)) == Taken(refused=True)
    assert peer.ask(FindSuccessor(15)) == NextNode(10)
    assert peer.ask(Stabilize()) == RingNeighbours(False)
    assert peer.ask(CheckPredecessor()) == Alive(False)


@pytest.mark.parametrize(
    "reply",
    [
        NextNode(20, False, [Contact(3, 50)]),
        NextNode(20, False, [Contact(3, 15)]),
        NextNode(20, True, [Contact(3, 35)]),
    ],
    ids=["beyond the key", "behind the peer", "not the successor"],
)
def test_an_answer_that_leads_away_from_the_key_is_dropped_and_counted(reply: NextNode) -> None:
    peer = Peer(lookups="iterative")
    peer.chord.carry(Passes(), LookupRequest)
    peer.chord.route(40, LookupRequest(1))
    assert peer.asked(FindSuccessor) == [2]
    peer.answer(reply)
    assert peer.environment.dropped == {"NextNode: it leads away from the key": 1} or any(
        "leads away" in words for words in peer.environment.dropped
    )
    assert peer.asked(FindSuccessor) == [2, 1]
