"""How Pastry peers join, and how they keep their leaf sets and routing tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fake_environment import FakeEnvironment
from pastry_world import PastryWorld, Place

from emulator.identifiers import RING, hash_of_peer
from emulator.messages.message import Message
from emulator.overlays.pastry import Pastry, PastryParameters
from emulator.overlays.pastry.routing_table import RoutingTable
from trellis.v1.overlay import Contact, Goodbye, Routed
from trellis.v1.pastry import (
    JoinRequest,
    JoinState,
    LeafSetHeartbeat,
    LeafSetProbe,
    Ping,
    Pong,
    RowAnnouncement,
    RowReply,
    RowRequest,
    SlotReply,
    SlotRequest,
)


def contacts(*peers: int) -> list[Contact]:
    return [Contact(peer, hash_of_peer(peer)) for peer in peers]


def numbers(told: Iterable[Contact]) -> list[int]:
    return [contact.peer for contact in told]


class Watched(PastryWorld):
    """Keeps what was sent, by class: (sender, receiver, message)."""

    def __init__(self, **parameters: object) -> None:
        super().__init__(parameters=PastryParameters.model_validate(parameters))
        self.sent: dict[type[Message], list[tuple[int, int, Message]]] = defaultdict(list)

    def carry(self, sender: Place, channel: str, receiver: int, message: Message, request: int) -> None:
        self.sent[type(message)].append((sender.peer, receiver, message))
        super().carry(sender, channel, receiver, message, request)


def grown(peers: int, **parameters: object) -> Watched:
    world = Watched(**parameters)
    for peer in range(peers):
        world.at(world.random.uniform(0, 10), lambda peer=peer: world.join(peer))  # type: ignore[misc]
    world.run(20)
    world.sent.clear()
    return world


class Peer:
    """Peer 0, which begins to join through the contacts, or is the first if there are none."""

    def __init__(self, *through: int, **parameters: object) -> None:
        self.environment = FakeEnvironment(0)
        self.pastry = Pastry(self.environment, PastryParameters.model_validate(parameters))
        self.pastry.start(through)

    def take(self, sender: int, message: Message, request: int = 0) -> None:
        self.environment.hand_over(sender, message, request=request)

    def meet(self, *peers: int) -> None:
        """Each peer probes this one, and knows nobody."""
        for peer in peers:
            self.take(peer, LeafSetProbe(identifier=hash_of_peer(peer)), request=1)

    def shown(self, peer: int, milliseconds: float = 1) -> None:
        """The peer shows this one a row that it is in, and how far they are apart."""
        message = RowAnnouncement(identifier=hash_of_peer(peer), round_trip_us=round(milliseconds * 1000))
        self.take(peer, message)

    def asked(self, kind: type[Message]) -> list[int]:
        """The peers that requests of this class went to and that have not been answered."""
        return [
            sent.peer for sent in self.environment.outbox if type(sent.message) is kind and sent.request > 0
        ]

    def answer(self, peer: int, reply: Message, to: type[Message]) -> None:
        """The peer answers the first request of the class that was sent to it."""
        outbox = self.environment.outbox
        place = next(i for i, sent in enumerate(outbox) if sent.peer == peer and type(sent.message) is to)
        self.take(peer, reply, request=-outbox.pop(place).request)

    def pong(self, peer: int, ready: bool = True) -> None:
        self.answer(peer, Pong(identifier=hash_of_peer(peer), ready=ready), to=Ping)

    def describe(self, peer: int, *leaves: int) -> None:
        """The peer answers a probe with its leaves."""
        reply = LeafSetProbe(identifier=hash_of_peer(peer), leaves=contacts(*leaves))
        self.answer(peer, reply, to=LeafSetProbe)

    def describe_all(self) -> None:
        """All peers that are probed answer that they know nobody, until nothing is asked any more."""
        while probed := self.asked(LeafSetProbe):
            for peer in probed:
                self.describe(peer)

    def requests(self, kind: type[Message]) -> list[tuple[int, Message]]:
        """The requests of a class that were sent; they stay to be answered."""
        return [(sent.peer, sent.message) for sent in self.environment.outbox if type(sent.message) is kind]

    def forget_sent(self) -> None:
        self.environment.outbox.clear()

    def leaves(self) -> list[int]:
        return list(self.pastry.neighbours()["leaf"])

    def entries(self) -> list[int]:
        return list(self.pastry.neighbours()["routing table"])


def test_a_peer_tells_its_identifier_when_it_starts() -> None:
    peer = Peer()
    assert peer.environment.fake.identifiers == {"": hash_of_peer(0)} == {"": peer.pastry.identifier}


def test_the_first_contact_that_answers_is_searched_from() -> None:
    peer = Peer(1, 2, 3)
    assert peer.asked(Ping) == [1, 2, 3]
    peer.pong(3, ready=False)
    peer.pong(2)
    peer.pong(1)
    assert peer.requests(RowRequest) == [(2, RowRequest(leaf_set=True))]


def test_the_search_goes_to_whoever_is_nearer_and_up_the_rows() -> None:
    peer = Peer(1)
    peer.environment.advance(0.1)
    peer.pong(1)
    peer.answer(1, RowReply(rows=2, peers=contacts(0, 4, 5)), to=RowRequest)
    assert peer.asked(Ping) == [4, 5]
    peer.environment.advance(0.05)
    peer.pong(5)
    peer.environment.advance(0.04)
    assert not peer.asked(RowRequest)
    peer.environment.advance(0.02)
    assert peer.requests(RowRequest) == [(5, RowRequest(row=1))]
    peer.answer(5, RowReply(rows=2, peers=contacts(6)), to=RowRequest)
    peer.environment.advance(0.06)
    assert peer.requests(RowRequest) == [(5, RowRequest(row=0))]
    peer.answer(5, RowReply(rows=2), to=RowRequest)
    peer.environment.advance(0.06)
    [(hop, routed)] = peer.environment.take(Routed)
    assert (hop, routed.message, routed.hops) == (5, JoinRequest(), 1)
    assert routed.key == hash_of_peer(0) and routed.origin == Contact(0, hash_of_peer(0))


def test_a_peer_has_joined_when_its_leaves_answered() -> None:
    peer = Peer(1, search_steps=0)
    peer.pong(1)
    peer.take(1, JoinState(identifier=hash_of_peer(1), last=True, leaves=contacts(2, 0)))
    assert sorted(peer.asked(LeafSetProbe)) == [1, 2]
    peer.describe(1, 0, 2)
    assert not peer.pastry.ready
    peer.describe(2, 0, 1)
    peer.describe_all()  # both sides are short, so the last on each is asked again
    assert peer.pastry.ready
    assert sorted(peer.leaves()) == [1, 2]


def test_a_contact_that_never_answers_is_replaced() -> None:
    peer = Peer(1)
    peer.environment.advance(5)
    assert len(peer.environment.asked_for_contacts) == 1
    peer.forget_sent()
    peer.environment.asked_for_contacts.pop()([2])
    assert peer.asked(Ping) == [2]


def test_the_bootstrap_services_late_answer_starts_no_second_join() -> None:
    peer = Peer(1)
    peer.environment.advance(10)  # it was asked again, for it had not answered
    first, second = peer.environment.asked_for_contacts
    peer.forget_sent()
    first([2])
    second([3])
    assert peer.asked(Ping) == [2]


def test_a_near_peer_that_does_not_answer_for_its_row_is_replaced() -> None:
    peer = Peer(1)
    peer.pong(1)
    assert peer.asked(RowRequest) == [1]
    peer.environment.advance(4.9)
    assert not peer.environment.asked_for_contacts
    peer.environment.advance(0.2)
    assert len(peer.environment.asked_for_contacts) == 1


def test_peers_join_through_a_near_one() -> None:
    world = grown(100)
    ranks = []
    for newcomer in range(100, 110):
        world.sent.clear()
        world.join(newcomer)
        world.run(5)
        [first] = [
            to
            for by, to, message in world.sent[Routed]
            if by == newcomer and isinstance(message, Routed) and isinstance(message.message, JoinRequest)
        ]
        by_delay = sorted((p for p in world.places if p != newcomer), key=lambda p: world.delay(newcomer, p))
        ranks.append(by_delay.index(first))
    assert sum(ranks) / len(ranks) < 10


def test_a_peer_that_joined_shows_each_row_to_those_in_it() -> None:
    world = grown(60)
    world.join(60)
    world.run(5)
    table = RoutingTable(hash_of_peer(60), 4)
    shown = [(to, m) for by, to, m in world.sent[RowAnnouncement] if by == 60]
    assert {to for to, _ in shown} >= set(world.places[60].pastry.neighbours()["routing table"]) - {60}
    for to, message in shown:
        assert isinstance(message, RowAnnouncement)
        assert message.identifier == hash_of_peer(60)
        rows = {table.place(contact.identifier)[0] for contact in message.peers}
        assert rows == {table.place(hash_of_peer(to))[0]}
        assert abs(message.round_trip_us / 1e6 - 2 * world.delay(60, to)) < 0.001


def test_only_left_neighbours_get_heartbeats() -> None:
    world = grown(20)
    world.run(31)
    ring = sorted(world.places, key=hash_of_peer)
    expected = {(peer, ring[index - 1]) for index, peer in enumerate(ring)}
    assert {(by, to) for by, to, _ in world.sent[LeafSetHeartbeat]} == expected


def heartbeat(sender: int, *leaves: int) -> LeafSetHeartbeat:
    return LeafSetHeartbeat(identifier=hash_of_peer(sender), leaves=contacts(*leaves))


def test_a_leaf_that_two_peers_disagree_on_is_asked_itself() -> None:
    peer = Peer()
    right, beyond = clockwise(range(1, 30))[:2]
    peer.meet(right, beyond)
    peer.describe_all()
    peer.environment.advance(32)
    peer.forget_sent()
    peer.take(right, heartbeat(right, 0))
    assert beyond in peer.asked(LeafSetProbe)


def test_a_heartbeat_of_a_peer_that_is_not_the_right_neighbour_is_answered_by_a_probe() -> None:
    peer = Peer(leaf_set=2, heartbeat="1000 s", table_probe="1000 s")
    right, beyond = clockwise(range(1, 30))[:2]
    peer.meet(right)
    peer.describe_all()
    peer.take(beyond, heartbeat(beyond, 0, right))
    assert peer.asked(LeafSetProbe) == [beyond]


def test_a_dead_entry_is_found_by_probes_and_its_slot_filled_again() -> None:
    world = grown(100, table_probe="20 s")
    for peer in world.random.sample(sorted(world.places), 10):
        world.leave(peer, graceful=False)
    before = world.filled_slots()
    world.run(60)
    for place in world.places.values():
        assert set(place.pastry.neighbours()["routing table"]) <= world.places.keys()
    assert before < 0.92 and world.filled_slots() > 0.95


def test_an_entry_that_spoke_is_not_probed() -> None:
    peer = Peer(leaf_set=2, table_probe="60 s", heartbeat="1000 s")
    for other in range(1, 30):
        peer.shown(other)
    silent, *others = peer.entries()
    peer.environment.advance(60)
    for other in others:
        peer.take(other, Ping(), request=1)
    peer.forget_sent()
    peer.environment.advance(31)
    assert peer.asked(Ping) == [silent]


def test_a_round_trip_that_another_peer_measured_counts() -> None:
    peer = Peer(table_probe="1000 s")
    table = RoutingTable(hash_of_peer(0), 4)
    place = table.place(hash_of_peer(1))
    nearer, farther = [p for p in range(2, 99) if table.place(hash_of_peer(p)) == place][:2]
    peer.shown(1, milliseconds=20)
    peer.shown(farther, milliseconds=30)
    assert peer.entries() == [1]
    peer.shown(nearer, milliseconds=10)
    assert peer.entries() == [nearer]


def test_an_entry_that_never_answers_is_asked_three_times() -> None:
    peer = Peer(leaf_set=2, table_probe="60 s", heartbeat="1000 s")
    peer.shown(1)
    peer.environment.advance(90 + 8.9)
    assert peer.asked(Ping) == [1, 1, 1] and peer.entries() == [1]
    peer.environment.advance(0.2)
    assert peer.entries() == []


def test_rows_are_compared_and_nearer_peers_taken_in() -> None:
    peer = Peer(table_maintenance="100 s", table_probe="1000 s")
    table = RoutingTable(hash_of_peer(0), 4)
    place = table.place(hash_of_peer(1))
    nearer, farther = [p for p in range(2, 99) if table.place(hash_of_peer(p)) == place][:2]
    peer.shown(1, milliseconds=200)
    peer.environment.advance(51)
    assert peer.requests(RowRequest) == [(1, RowRequest(row=place[0]))]
    peer.answer(1, RowReply(peers=contacts(nearer, farther)), to=RowRequest)
    assert peer.asked(Ping) == [nearer, farther]
    peer.environment.advance(0.1)
    peer.pong(nearer)
    peer.environment.advance(0.3)
    peer.pong(farther)
    assert peer.entries() == [nearer]


def test_an_empty_slot_on_the_way_of_a_message_is_asked_for_at_the_next_hop() -> None:
    world = grown(100)
    peer = min(world.places)
    pastry = world.places[peer].pastry
    leaves = set(pastry.neighbours()["leaf"])
    entry = next(p for p in pastry.neighbours()["routing table"] if p not in leaves)
    pastry._state.table.remove(entry)
    for number in range(2):
        world.lookup(number, peer, hash_of_peer(entry))
    world.run(3)
    assert len([by for by, _, _ in world.sent[SlotRequest] if by == peer]) == 1
    assert [to for _, to, _ in world.sent[SlotReply]] == [peer]
    assert pastry._state.table.lookup(hash_of_peer(entry)) is not None


def test_gauges_count_what_is_known() -> None:
    world = grown(40)
    for place in world.places.values():
        gauges, neighbours = place.pastry.gauges(), place.pastry.neighbours()
        assert gauges["routing_table_entries"] == len(neighbours["routing table"]) > 0
        assert gauges["leaf_set_size"] == len(neighbours["leaf"]) == 16
        assert set(gauges) == {"routing_table_entries", "leaf_set_size"}


def test_replicas_belong_on_the_peers_next_on_the_ring() -> None:
    world = grown(40)
    own = hash_of_peer(0)
    by_distance = sorted((p for p in world.places if p), key=lambda p: RING.distance(own, hash_of_peer(p)))
    assert world.places[0].pastry.neighbour_set(5) == contacts(*by_distance[:5])


def test_a_sample_is_of_different_known_peers() -> None:
    world = grown(40)
    pastry = world.places[0].pastry
    known = {*pastry.neighbours()["leaf"], *pastry.neighbours()["routing table"]}
    assert len(set(pastry.sample(5))) == 5 and set(pastry.sample(5)) <= known
    assert set(pastry.sample(1000)) == known


def ready_with_leaves(*leaves: int) -> Peer:
    """Peer 0 alone, then the others answer as leaves until it has nothing left to ask."""
    peer = Peer(leaf_set=4, heartbeat="1000 s", table_probe="1000 s")
    peer.meet(*leaves)
    peer.describe_all()
    peer.forget_sent()
    return peer


def test_the_death_of_a_neighbour_is_told_to_all_leaves() -> None:
    peer = ready_with_leaves(*range(1, 20))
    left, *others = peer.leaves()[1::-1] + peer.leaves()[2:]
    peer.take(left, Goodbye())
    probes = peer.requests(LeafSetProbe)
    assert {to for to, _ in probes} >= set(others)
    assert all(isinstance(message, LeafSetProbe) and message.failed == [left] for _, message in probes)


def test_the_farthest_leaf_of_a_side_that_lost_one_is_asked_for_the_next() -> None:
    peer = ready_with_leaves(*range(1, 20))
    farthest, neighbour, *_ = peer.leaves()
    peer.take(farthest, Goodbye())
    assert [(to, m.search) for to, m in peer.environment.take(LeafSetProbe)] == [(neighbour, True)]


def test_a_peer_that_is_searched_from_tells_the_nearest_that_it_knows() -> None:
    peer = ready_with_leaves(*range(1, 20))
    known = {0, *peer.leaves(), *peer.entries()}
    asker = next(p for p in range(20, 60) if peer.pastry.next_hop(hash_of_peer(p)) is not None)
    peer.take(asker, LeafSetProbe(identifier=hash_of_peer(asker), search=True), request=1)
    [(to, answer)] = [(to, m) for to, m in peer.environment.take(LeafSetProbe) if m.nearest]
    near = sorted(known, key=lambda p: RING.distance(hash_of_peer(p), hash_of_peer(asker)))
    assert to == asker and near[0] in numbers(answer.nearest) and len(answer.nearest) == 4


def test_failures_that_others_tell_of_are_checked_first() -> None:
    peer = ready_with_leaves(*range(1, 20))
    suspect, teller, *_ = peer.leaves()
    peer.take(teller, LeafSetProbe(identifier=hash_of_peer(teller), failed=[suspect]), request=1)
    assert suspect in peer.leaves()
    assert suspect in peer.asked(LeafSetProbe)


def test_a_candidate_that_did_not_answer_is_told_to_who_named_it() -> None:
    peer = ready_with_leaves(1)
    peer.take(1, heartbeat(1, 0, 2))
    assert 2 in peer.asked(LeafSetProbe)
    peer.environment.fail(2)
    peer.forget_sent()
    peer.meet(1)
    [(_, answer)] = peer.environment.take(LeafSetProbe)
    assert answer.failed == [2]


def test_an_empty_side_is_sought_among_all_known_peers() -> None:
    peer = ready_with_leaves(*range(1, 20))
    known = set(peer.entries())
    first, second, third, fourth = peer.leaves()
    peer.take(first, Goodbye())
    peer.describe_all()
    peer.take(second, Goodbye())
    for leaf in (third, fourth):
        peer.describe(leaf)
    asked = set(peer.asked(LeafSetProbe)) - {third, fourth}
    assert asked and asked <= known


def test_a_right_neighbour_that_was_silent_for_longer_than_a_heartbeat_is_probed() -> None:
    peer = Peer(leaf_set=4, table_probe="1000 s")
    right, *_ = clockwise(range(1, 20))
    peer.meet(right)
    peer.describe_all()
    peer.environment.advance(32)
    peer.forget_sent()
    peer.take(right, heartbeat(right, 0))
    peer.environment.advance(32)
    assert right not in peer.asked(LeafSetProbe)
    peer.environment.advance(6)
    assert right in peer.asked(LeafSetProbe)


def test_a_neighbour_that_lacks_a_live_leaf_is_told() -> None:
    peer = Peer(leaf_set=4, table_probe="1000 s", heartbeat="1000 s")
    right, beyond = clockwise(range(1, 30))[:2]
    peer.meet(right, beyond)
    peer.describe_all()
    peer.environment.advance(20)
    peer.forget_sent()
    peer.take(right, heartbeat(right, 0, beyond))
    assert not peer.asked(LeafSetProbe)
    peer.take(right, heartbeat(right, 0))
    [(told, message)] = peer.environment.take(LeafSetProbe)
    assert told == right and beyond in numbers(message.leaves)


def test_what_a_search_found_is_asked_itself() -> None:
    peer = ready_with_leaves(1)
    answer = LeafSetProbe(identifier=hash_of_peer(1), nearest=contacts(2))
    peer.take(1, answer, request=1)
    assert 2 in peer.asked(LeafSetProbe)


def test_a_neighbour_whose_heartbeat_leaves_this_peer_out_is_told() -> None:
    peer = ready_with_leaves(*clockwise(range(1, 30))[:2])
    right, beyond = clockwise(range(1, 30))[:2]
    peer.take(right, heartbeat(right, beyond))
    assert peer.asked(LeafSetProbe) == [right]


def test_a_peer_that_everybody_left_asks_the_bootstrap_service() -> None:
    peer = Peer()
    assert peer.pastry.ready
    peer.meet(1)
    peer.take(1, Goodbye())
    assert not peer.pastry.ready and len(peer.environment.asked_for_contacts) == 1


def test_a_join_request_collects_rows_and_at_the_end_leaves() -> None:
    peer = Peer(leaf_set=4)
    for other in range(1, 40):
        peer.shown(other, milliseconds=other)
    table = RoutingTable(hash_of_peer(0), 4)
    joining = next(p for p in range(40, 400) if table.place(hash_of_peer(p))[0] == 1)
    for hops, rows in ((1, {0, 1}), (2, {1})):
        peer.forget_sent()
        request = Routed(
            key=hash_of_peer(joining),
            origin=contacts(joining)[0],
            hops=hops,
            message=JoinRequest(),
            sequence=hops,
        )
        peer.take(5, request, request=1)
        [(to, state)] = peer.environment.take(JoinState)
        assert to == joining
        assert {table.place(entry.identifier)[0] for entry in state.entries} == rows
        assert state.last == (state.leaves != [])


def clockwise(peers: range) -> list[int]:
    return sorted(peers, key=lambda peer: (hash_of_peer(peer) - hash_of_peer(0)) & RING.mask)
