"""Chord with several nodes for each peer."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from fake_environment import FakeEnvironment
from lookup_world import LookupWorld

from emulator.contract.identifiers import ClockwiseRing, hash_of
from emulator.contract.invariants import PeersUp
from emulator.contract.protocol import Component, Message
from emulator.contract.registry import SYSTEMS
from emulator.protocols.overlays.chord.node_environment import NodeHub
from emulator.protocols.overlays.chord.ring_invariant import broken
from emulator.protocols.overlays.chord.successor_list import SuccessorList
from trellis.v1.chord import Alive, CheckPredecessor, NodeMessage, NodeReply, NodeRequest, Notify
from trellis.v1.overlay import Goodbye

RING = ClockwiseRing(128)


class NodesWorld(LookupWorld):
    """Peers that are several nodes each."""

    def __init__(self, peers: int, nodes: int) -> None:
        chord = SYSTEMS["chord"]
        given = {"virtual_nodes": nodes, "stabilization": "1 s", "fix_fingers": "all", "timeout": "2 s"}
        parameters = chord.parameters.model_validate(given)
        super().__init__(range(peers), lambda e: chord.create(e, parameters), peers)  # type: ignore[arg-type, return-value]
        self.run(60)

    def places(self) -> list[tuple[int, int]]:
        """Return the identifiers that the peers have told, with their peers."""
        return [
            (identifier, peer)
            for peer in self.up
            for identifier in self.world.environments[peer].fake.identifiers.values()
        ]

    def owner(self, key: int) -> int:
        return min(self.places(), key=lambda place: RING.distance(place[0], key))[1]


@pytest.mark.parametrize("nodes", [2, 5])
def test_each_key_is_found_at_the_peer_of_its_successor(nodes: int) -> None:
    world = NodesWorld(8, nodes)
    assert len({identifier for identifier, _ in world.places()}) == 8 * nodes
    for number in range(40):
        key = hash_of(f"key {number}")
        ((peer, hops),) = world.look_up(number % 8, key, number)
        assert peer == world.owner(key)
        assert 0 <= hops <= 8


def test_keys_are_found_after_peers_crash_and_leave() -> None:
    world = NodesWorld(12, 3)
    world.crash([3, 7])
    world.world.protocols[5].stop(graceful=True)
    world.world.exchange()
    world.crash([5])
    world.run(60)
    for number in range(30):
        key = hash_of(f"key {number}")
        ((peer, _),) = world.look_up(world.up[number % 9], key, number)
        assert peer == world.owner(key)


def test_more_nodes_spread_keys_more_evenly() -> None:
    spread = []
    for nodes in (2, 16):
        world = NodesWorld(6, nodes)
        owned = Counter(world.owner(hash_of(f"key {number}")) for number in range(600))
        spread.append(statistics.pstdev([owned[peer] for peer in range(6)]))
    assert spread[1] < spread[0] / 1.5


def test_one_node_is_chord_itself() -> None:
    chord = SYSTEMS["chord"]
    environment = FakeEnvironment(0)
    made = chord.create(environment, chord.parameters())
    assert type(made).__name__ == "Lookups"


class Hub:
    """Two nodes of peer 3, without Chord."""

    def __init__(self) -> None:
        self.environment = FakeEnvironment(3)
        self.hub = NodeHub(self.environment, 2)
        self.heard: list[tuple[int, Message]] = []
        self.node = self.hub.nodes[1]
        self.node.handle(Notify, lambda sender, message: self.heard.append((sender, message)))
        self.node.serve(CheckPredecessor, lambda sender, message: Alive(True))
        self.replies: list[Any] = []

    def ask(self, node: int, timeout: float = 2.0) -> Any:
        """Have node 0 of this peer ask a node."""
        message = CheckPredecessor()
        replied, failed = self.replies.append, lambda: self.replies.append("failed")
        return self.hub.nodes[0].request(node, message, timeout, replied, failed)


def test_messages_name_their_nodes_and_arrive_at_them() -> None:
    tested = Hub()
    tested.hub.nodes[0].send(9, Notify(5))
    ((peer, sent),) = tested.environment.take(NodeMessage)
    assert (peer, sent.sender, sent.receiver) == (4, 0, 1)
    tested.environment.hand_over(4, NodeMessage(1, 1, Notify(6)))
    assert tested.heard == [(9, Notify(6))]


def test_nodes_of_one_peer_need_no_network() -> None:
    tested = Hub()
    tested.hub.nodes[0].send(7, Notify(5))
    tested.ask(7)
    assert not tested.environment.outbox
    tested.environment.advance(0.0)
    assert tested.heard == [(6, Notify(5))]
    assert tested.replies == [Alive(True)]
    tested.environment.advance(10.0)
    assert tested.replies == [Alive(True)]


def test_a_request_to_a_node_that_does_not_serve_it_fails_in_time() -> None:
    tested = Hub()
    tested.ask(6, 2.0)
    tested.environment.advance(1.9)
    assert not tested.replies
    tested.environment.advance(0.2)
    assert tested.replies == ["failed"]
    tested.ask(6, 2.0).cancel()
    tested.environment.advance(9.0)
    assert tested.replies == ["failed"]
    timer = tested.ask(6, 5.0)
    timer.hasten()
    tested.environment.advance(0.0)
    assert tested.replies == ["failed", "failed"]


def test_a_request_to_another_peer_is_answered_or_fails() -> None:
    tested = Hub()
    tested.ask(9)
    (sent,) = tested.environment.fake.empty_outbox()
    tested.environment.hand_over(4, NodeReply(Alive(True)), request=-sent.request)
    assert tested.replies == [Alive(True)]
    tested.ask(9)
    (sent,) = tested.environment.fake.empty_outbox()
    tested.environment.hand_over(4, Goodbye(), request=-sent.request)
    assert tested.replies == [Alive(True), "failed"]


@pytest.mark.parametrize(
    "message",
    [NodeMessage(1, 1, None), NodeMessage(1, 2, Notify(1)), NodeMessage(2, 1, Notify(1))],
)
def test_what_no_node_can_mean_is_dropped(message: NodeMessage) -> None:
    tested = Hub()
    tested.environment.hand_over(4, message)
    tested.environment.hand_over(4, NodeRequest(message.sender, message.receiver, message.message), request=3)
    assert not tested.heard
    assert not tested.environment.outbox
    assert any("NodeMessage" in told for told in tested.environment.dropped)
    assert any("NodeRequest" in told for told in tested.environment.dropped)


class Up(PeersUp):
    """The peers of a world, as a trial's watch gives them."""

    def __init__(self, world: NodesWorld) -> None:
        self.world = world

    @property
    def now(self) -> float:
        return 0.0

    def parts(self, kind: type[Component]) -> Iterator[tuple[int, Any]]:
        for peer in self.world.up:
            if type(self.world.world.protocols[peer]) is kind:
                yield peer, self.world.world.protocols[peer]

    def down_for(self, peer: int) -> float:
        return 0.0


def test_the_invariant_of_the_ring_looks_at_all_nodes() -> None:
    world = NodesWorld(6, 3)
    assert broken(Up(world)) is None
    nodes: Any = world.world.protocols[4]
    state = nodes.nodes[2].state
    state.successors = SuccessorList(state.me, RING.mask, 4)
    found = broken(Up(world))
    assert found is not None and list(found.peers) == [4]
