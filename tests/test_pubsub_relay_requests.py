"""Relay requests as rows: what a host's peers keep of them, and what they hand on."""

from __future__ import annotations

from fake_environment import FakeEnvironment
from hypothesis import given
from hypothesis import strategies as st
from test_pubsub_relay_trees import BELOW, LIFETIME, SELF, TOPIC, Routes, some

from emulator.compact.bit_sets import bit_set
from emulator.compact.peer_rows import PeerRows
from emulator.protocols.pubsub.vitis.relay_requests import RelayRequests
from emulator.protocols.pubsub.vitis.relay_trees import RelayTrees
from trellis.v1.pubsub import RelayRequest


class Host:
    """Two peers of one host, of which `BELOW` asks `SELF`, the rendezvous node."""

    def __init__(self) -> None:
        self.asker, self.asked = FakeEnvironment(BELOW), FakeEnvironment(SELF)
        self.asker.fake.shared = self.asked.fake.shared
        self.routes = Routes(SELF)
        self.below = RelayTrees(self.asker, self.routes, LIFETIME)
        self.trees = RelayTrees(self.asked, Routes(None), LIFETIME)
        self.requests = self.asked.shared(RelayRequests, self.asked.shared(PeerRows), LIFETIME)

    def row(self) -> int:
        """Return the row of the request of `BELOW`."""
        links, row = self.requests.above, self.asked.shared(PeerRows).row(BELOW)
        assert links.count(row) == 1
        return int(links.requests[links.begin(row)])


def test_a_row_arrives_at_its_receiver_and_makes_a_link() -> None:
    host = Host()
    host.below.refresh(some(TOPIC))
    assert host.requests.receive(SELF, BELOW, host.row(), 0.0)
    assert host.trees.links(TOPIC) == {BELOW}


def test_the_same_row_renews_the_link_until_a_lifetime_after_it_came() -> None:
    host = Host()
    host.below.refresh(some(TOPIC))
    for at in (0.0, 4.0, 8.0):
        assert host.requests.receive(SELF, BELOW, host.row(), at)
    host.asked.advance(8.0 + LIFETIME)
    assert host.trees.links(TOPIC) == {BELOW}
    host.asked.advance(0.5)
    assert host.trees.links(TOPIC) == set()


def test_a_row_whose_link_has_ended_makes_it_anew() -> None:
    host = Host()
    host.below.refresh(some(TOPIC))
    host.requests.receive(SELF, BELOW, host.row(), 0.0)
    host.asked.advance(LIFETIME + 1.0)
    host.requests.receive(SELF, BELOW, host.row(), LIFETIME + 1.0)
    assert host.trees.links(TOPIC) == {BELOW}


def test_a_peer_that_is_down_gets_no_row() -> None:
    host = Host()
    host.below.refresh(some(TOPIC))
    host.requests.leave(SELF)
    assert not host.requests.receive(SELF, BELOW, host.row(), 0.0)
    assert not host.requests.receive(99, BELOW, host.row(), 0.0)


def test_nobody_holds_a_request_after_all_have_left() -> None:
    host = Host()
    host.below.refresh(some(TOPIC))
    host.requests.receive(SELF, BELOW, host.row(), 0.0)
    host.below.refresh(some(TOPIC, 8))
    host.requests.receive(SELF, BELOW, host.row(), 1.0)
    host.asked.hand_over(BELOW, RelayRequest(bit_set([9]), addition=True))
    assert host.trees.links(9) == {BELOW}
    assert host.requests.held() == 2
    host.requests.leave(BELOW)
    assert host.requests.held() == 1
    host.trees.clear()
    assert host.requests.held() == 0


def test_a_route_that_is_found_anew_with_the_same_topics_is_the_same_row() -> None:
    host = Host()
    host.below.refresh(some(TOPIC))
    before = host.row()
    host.routes.change(SELF)
    host.below.refresh(some(TOPIC))
    assert host.row() == before


@given(st.sets(st.integers(0, 20_000)), st.booleans())
def test_a_row_has_the_size_of_the_message_that_it_stands_for(topics: set[int], addition: bool) -> None:
    requests = Host().requests
    row = requests.put(some(*topics), addition=addition)
    message = requests.view(row)
    assert (message.topics, message.addition) == (bit_set(topics), addition)
    assert requests.byte_size(row) == message.byte_size()
    assert list(requests.topics(requests.take(message))) == sorted(topics)
