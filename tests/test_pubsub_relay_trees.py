"""Relay paths towards rendezvous nodes: made by requests, kept by repetition, faded by silence."""

from __future__ import annotations

from typing import Any

from fake_environment import FakeEnvironment
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import append, vec
from mypy_extensions import i32, i64

from emulator.compact.bit_sets import bit_set, bits
from emulator.compact.peer_rows import PeerRows
from emulator.compact.sorted_numbers import sorted_numbers
from emulator.protocols.pubsub.vitis.relay_requests import RelayLinks, RelayRequests
from emulator.protocols.pubsub.vitis.relay_trees import RelayTrees
from trellis.v1.pubsub import RelayRequest

SELF, ABOVE, OTHER, BELOW, BESIDE = 50, 1, 2, 3, 4
TOPIC = 7
LIFETIME = 5.0


class Routes:
    """Routes whose next hops the test sets: for each topic, or for all."""

    def __init__(self, hop: int | None) -> None:
        self.hop = hop
        self.by_topic: dict[int, int | None] = {}
        self.routes_version = 0

    def change(self, hop: int | None) -> None:
        self.hop = hop
        self.routes_version += 1

    def next_hops(self, topics: vec[i32]) -> dict[int, vec[i32]]:
        by_hop: dict[int, vec[i32]] = {}
        for topic in topics:
            hop = self.by_topic.get(int(topic), self.hop)
            if hop is not None:
                by_hop[hop] = append(by_hop.get(hop, vec[i32]()), topic)
        return by_hop


def some(*topics: int) -> vec[i32]:
    """Return a set of topics."""
    return sorted_numbers(bit_set(topics))


class Relay:
    """One peer's relay trees in their world."""

    def __init__(self, peer: int = SELF, hop: int | None = ABOVE) -> None:
        self.environment = FakeEnvironment(peer)
        self.routes = Routes(hop)
        self.trees = RelayTrees(self.environment, self.routes, LIFETIME)
        self.requests = self.environment.shared(RelayRequests, self.environment.shared(PeerRows), LIFETIME)

    def links(self, links: RelayLinks) -> list[tuple[int, vec[i32], float]]:
        """Return this peer's links in one direction: the peer at the other end, topics, and the end."""
        row = self.environment.shared(PeerRows).row(self.environment.peer)
        places = range(links.begin(row), links.end(row))
        return [
            (links.peers[i64(at)], self.requests.topics(links.requests[i64(at)]), links.ends[i64(at)])
            for at in places
        ]

    def receive(self, sender: int, *topics: int, addition: bool = False) -> None:
        self.environment.hand_over(sender, RelayRequest(bit_set(topics), addition))

    def round(self, *wanted: int) -> dict[int, set[int]]:
        """Let a round pass, and return what is asked of whom in it."""
        self.environment.advance(1.0)
        self.trees.refresh(some(*wanted))
        return self.asked()

    def asked(self) -> dict[int, set[int]]:
        return {peer: set(bits(message.topics)) for peer, message in self.environment.take(RelayRequest)}


def test_asks_the_next_hop_for_what_is_wanted_each_round() -> None:
    relay = Relay()
    assert relay.round(TOPIC) == {ABOVE: {TOPIC}}
    assert relay.round(TOPIC) == {ABOVE: {TOPIC}}
    assert relay.trees.links(TOPIC) == {ABOVE}


def test_asks_each_next_hop_for_its_own_topics() -> None:
    relay = Relay()
    relay.routes.by_topic = {8: OTHER, 9: None}
    assert relay.round(7, 8, 9) == {ABOVE: {7}, OTHER: {8}}


def test_who_is_asked_asks_its_own_next_hop_at_once() -> None:
    relay = Relay()
    relay.receive(BELOW, TOPIC)
    assert relay.asked() == {ABOVE: {TOPIC}}
    assert relay.trees.links(TOPIC) == {ABOVE, BELOW}


def test_a_second_request_for_a_relayed_topic_goes_no_further() -> None:
    relay = Relay()
    relay.receive(BELOW, TOPIC)
    relay.asked()
    relay.receive(BESIDE, TOPIC)
    assert not relay.environment.outbox
    assert relay.trees.links(TOPIC) == {ABOVE, BELOW, BESIDE}


def test_the_rendezvous_node_asks_nobody() -> None:
    relay = Relay(hop=None)
    relay.receive(BELOW, TOPIC)
    assert relay.round() == {}
    assert relay.trees.links(TOPIC) == {BELOW}


def test_what_is_asked_from_below_is_renewed_above_each_round() -> None:
    relay = Relay()
    for _ in range(12):
        relay.receive(BELOW, TOPIC)
        relay.asked()
        assert relay.round() == {ABOVE: {TOPIC}}


def test_an_addition_adds_and_a_whole_request_replaces() -> None:
    relay = Relay()
    relay.receive(BELOW, 1)
    relay.receive(BELOW, 2, addition=True)
    assert relay.trees.links(1) == relay.trees.links(2) == {ABOVE, BELOW}
    relay.asked()
    assert relay.round() == {ABOVE: {1, 2}}
    relay.receive(BELOW, 2)
    assert relay.round() == {ABOVE: {2}}


def test_a_link_ends_after_its_lifetime_without_renewal() -> None:
    relay = Relay()
    relay.receive(BELOW, TOPIC)
    for _ in range(int(LIFETIME)):
        relay.round()
        assert BELOW in relay.trees.links(TOPIC)
    relay.environment.advance(0.5)
    assert BELOW not in relay.trees.links(TOPIC)


def test_a_fading_link_ends_between_two_rounds() -> None:
    relay = Relay()
    relay.receive(BELOW, TOPIC, 8)
    relay.receive(BELOW, 8)
    assert BELOW in relay.trees.links(TOPIC)
    relay.environment.advance(LIFETIME + 0.5)
    assert BELOW not in relay.trees.links(TOPIC)


def test_an_addition_that_is_not_repeated_fades() -> None:
    relay = Relay()
    relay.receive(BELOW, 1)
    relay.receive(BELOW, 2, addition=True)
    for _ in range(8):
        relay.receive(BELOW, 1)
        asked = relay.round()
    assert asked == {ABOVE: {1}}
    assert relay.trees.links(1) == {ABOVE, BELOW}
    assert relay.trees.links(2) == set()


def test_a_link_that_is_renewed_does_not_end() -> None:
    relay = Relay()
    for _ in range(20):
        relay.receive(BELOW, TOPIC)
        relay.round()
        assert BELOW in relay.trees.links(TOPIC)


def test_what_is_asked_over_and_over_differently_does_not_keep_the_rest_alive() -> None:
    relay = Relay()
    relay.receive(BELOW, TOPIC, 0)
    for number in range(1, 8):
        relay.receive(BELOW, number * 100)
        relay.round()
    assert BELOW not in relay.trees.links(TOPIC)
    assert BELOW not in relay.trees.links(0)
    assert BELOW in relay.trees.links(600)
    assert BELOW in relay.trees.links(700)


def test_a_request_at_rest_is_the_same_object_each_round() -> None:
    relay = Relay()
    relay.receive(BELOW, 8)
    sent = []
    for _ in range(5):
        relay.receive(BELOW, 8)
        relay.environment.outbox.clear()
        relay.environment.advance(1.0)
        relay.trees.refresh(some(TOPIC))
        sent += relay.environment.take(RelayRequest)
    assert len(sent) == 5
    assert all(message is sent[0][1] for _, message in sent)


def test_a_topic_that_came_and_went_between_two_rounds_is_asked_no_more() -> None:
    relay = Relay()
    relay.round(TOPIC)
    relay.receive(BELOW, 8)
    relay.trees.on_unreachable(BELOW)
    relay.asked()
    assert relay.round(TOPIC) == {ABOVE: {TOPIC}}
    for _ in range(6):
        relay.round(TOPIC)
    assert relay.trees.links(8) == set()


def test_a_topic_that_is_asked_for_no_more_fades_at_both_ends_alike() -> None:
    """A peer that stops asking uses the link for as long as the peer that was asked."""
    asker, asked = Relay(peer=BELOW, hop=SELF), Relay(peer=SELF, hop=None)

    def step(*wanted: int) -> tuple[bool, bool]:
        asker.environment.advance(1.0)
        asked.environment.advance(1.0)
        asker.trees.refresh(some(*wanted))
        for _, request in asker.environment.take(RelayRequest):
            asked.environment.hand_over(BELOW, request)
        asked.trees.refresh(some())
        return SELF in asker.trees.links(TOPIC), BELOW in asked.trees.links(TOPIC)

    assert step(TOPIC, 8) == (True, True)
    assert [step(8) for _ in range(8)] == [(True, True)] * 6 + [(False, False)] * 2


def test_relay_state_of_a_path_that_nobody_needs_fades_hop_by_hop() -> None:
    relay = Relay()
    relay.receive(BELOW, TOPIC)
    for _ in range(12):
        asked = relay.round()
    assert asked == {}
    assert relay.trees.links(TOPIC) == set()


def test_a_changed_route_is_taken_in_the_next_round_and_the_old_link_fades() -> None:
    relay = Relay()
    relay.round(TOPIC)
    relay.routes.change(OTHER)
    assert relay.round(TOPIC) == {OTHER: {TOPIC}}
    assert relay.trees.links(TOPIC) == {ABOVE, OTHER}
    for _ in range(6):
        relay.round(TOPIC)
    assert relay.trees.links(TOPIC) == {OTHER}


def test_another_next_hop_is_asked_at_once_when_one_is_unreachable() -> None:
    relay = Relay()
    relay.receive(BELOW, 8)
    relay.round(TOPIC)
    relay.routes.change(OTHER)
    relay.trees.on_unreachable(ABOVE)
    assert relay.asked() == {OTHER: {TOPIC, 8}}
    assert relay.trees.links(TOPIC) == {OTHER}
    assert relay.round(TOPIC) == {OTHER: {TOPIC, 8}}


def test_an_unreachable_peer_below_is_relayed_to_no_more() -> None:
    relay = Relay()
    relay.receive(BELOW, TOPIC)
    relay.receive(BELOW, 8)
    relay.trees.on_unreachable(BELOW)
    assert BELOW not in relay.trees.links(TOPIC) | relay.trees.links(8)
    relay.asked()
    assert relay.round() == {}


def test_the_topics_relayed_for_others_are_told() -> None:
    relay = Relay()
    relay.receive(BELOW, 1, 2)
    relay.receive(BESIDE, 2, 3)
    relay.round(9)
    assert list(relay.trees.relayed()) == [1, 2, 3]


def test_a_cleared_relay_has_no_links_and_asks_for_nothing() -> None:
    relay = Relay()
    relay.receive(BELOW, TOPIC)
    relay.round(8)
    relay.trees.clear()
    assert relay.trees.links(TOPIC) == relay.trees.links(8) == set()
    assert relay.round() == {}


@given(
    st.lists(st.integers(0, 5), min_size=6, max_size=6),
    st.sets(st.integers(0, 5), min_size=1),
    st.integers(0, 3),
)
def test_requests_make_a_path_from_everyone_to_the_rendezvous_node(
    hops: list[int], wanting: set[int], rounds: int
) -> None:
    """Peers 0 to 5; each routes to a peer with a lower number, 0 is the rendezvous node."""
    relays = [Relay(peer, hop=None if peer == 0 else hops[peer] % peer) for peer in range(6)]
    for _ in range(1 + rounds):
        for peer, relay in enumerate(relays):
            relay.environment.advance(1.0)
            relay.trees.refresh(some(*[TOPIC] if peer in wanting else []))
        while any(relay.environment.outbox for relay in relays):
            for peer, relay in enumerate(relays):
                for receiver, request in relay.environment.take(RelayRequest):
                    relays[receiver].environment.hand_over(peer, request)
    for peer in wanting:
        here = peer
        while here:
            above = relays[here].routes.hop
            assert above is not None
            assert above in relays[here].trees.links(TOPIC)
            assert here in relays[above].trees.links(TOPIC)
            here = above


def test_a_request_over_a_link_that_has_ended_brings_none_of_its_former_topics_back() -> None:
    relay = Relay(hop=None)
    relay.receive(BELOW, TOPIC)
    relay.environment.advance(LIFETIME + 1.0)
    relay.receive(BELOW, TOPIC + 1, addition=True)
    assert relay.trees.links(TOPIC) == set()
    assert relay.trees.links(TOPIC + 1) == {BELOW}
    relay.environment.advance(LIFETIME + 1.0)
    relay.receive(BELOW, TOPIC)
    assert relay.trees.links(TOPIC + 1) == set()
    assert relay.trees.links(TOPIC) == {BELOW}


PEERS = st.integers(1, 4)
TOPICS = st.sets(st.integers(0, 5))
STEPS = st.one_of(
    st.tuples(st.just("asked"), PEERS, TOPICS, st.booleans()),
    st.tuples(st.just("round"), TOPICS),
    st.tuples(st.just("unreachable"), PEERS),
    st.tuples(st.just("routes"), st.dictionaries(st.integers(0, 5), st.none() | PEERS)),
    st.tuples(st.just("time"), st.floats(0.5, LIFETIME + 1)),
)


@given(st.lists(STEPS, max_size=25))
def test_a_topic_is_relayed_over_each_link_that_is_about_it(steps: list[tuple[Any, ...]]) -> None:
    relay = Relay()
    trees = relay.trees
    for kind, *about in steps:
        if kind == "asked":
            relay.receive(about[0], *about[1], addition=about[2])
        elif kind == "round":
            relay.round(*about[0])
        elif kind == "unreachable":
            trees.on_unreachable(about[0])
        elif kind == "routes":
            relay.routes.by_topic = about[0]
            relay.routes.routes_version += 1
        else:
            relay.environment.advance(about[0])
        relay.environment.outbox.clear()
        now = relay.environment.now
        for topic in range(6):
            links = [*relay.links(relay.requests.below), *relay.links(relay.requests.above)]
            links += [(fading.peer, fading.topics, fading.ends) for fading in trees._fading]
            about_it = {peer for peer, topics, ends in links if topic in topics and ends >= now}
            assert trees.links(topic) == about_it
        below = relay.links(relay.requests.below)
        assert list(trees.relayed()) == sorted({topic for _, topics, _ in below for topic in topics})
        if kind == "round":
            assert all(ends >= now for _, _, ends in below)
            assert all(fading.ends >= now for fading in trees._fading)
