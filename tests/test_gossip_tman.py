"""T-Man: the exchange of routing tables (Vitis, Algorithms 2 and 3)."""

from __future__ import annotations

import pytest
from fake_environment import FakeEnvironment
from trellis.v1.overlay_pb2 import TManExchange

from emulator.gossip.descriptor import Descriptor, Sighting, decode
from emulator.gossip.tman import TMan

SELF = 50


def known(*peers: int, heard: float = 0.0, version: int = 1) -> list[Sighting]:
    return [(heard, Descriptor.make(peer, version, {})) for peer in peers]


class Table:
    """A routing table that takes whoever it hears of, and remembers what it was told."""

    def __init__(self, environment: FakeEnvironment) -> None:
        self.entries: list[Sighting] = []
        self.random_peers: list[Sighting] = []
        self.told: list[list[Sighting]] = []
        own = Descriptor.make(SELF, 1, {})
        self.tman = TMan(
            environment,
            own=lambda: own,
            sample=lambda: self.random_peers,
            table=lambda: self.entries,
            select=self.select,
        )

    def select(self, told: list[Sighting]) -> None:
        self.told.append(told)
        self.entries = self.entries + self.random_peers + told

    def receive(self, sender: int, message: TManExchange) -> None:
        self.tman.handlers()[TManExchange](sender, message)


@pytest.fixture
def environment() -> FakeEnvironment:
    return FakeEnvironment(SELF)


@pytest.fixture
def table(environment: FakeEnvironment) -> Table:
    return Table(environment)


def from_peer(*peers: int, reply: bool = False, age_ms: int = 0) -> TManExchange:
    return TManExchange(
        reply=reply,
        profiles=[Descriptor.make(peer, 1, {}).encoded for peer in peers],
        ages_ms=[age_ms] * len(peers),
    )


def named(message: TManExchange) -> set[int]:
    return {decode(profile).peer for profile in message.profiles}


def test_sends_table_sample_and_itself_to_a_random_neighbour(
    environment: FakeEnvironment, table: Table
) -> None:
    table.entries, table.random_peers = known(1, 2, 3), known(3, 4)
    partners = set()
    for _ in range(30):
        table.tman.exchange()
        ((partner, message),) = environment.take(TManExchange)
        assert not message.reply
        assert named(message) == {SELF, 1, 2, 3, 4}
        partners.add(partner)
    assert partners == {1, 2, 3}


def test_an_empty_table_is_filled_from_the_sample_first(environment: FakeEnvironment, table: Table) -> None:
    table.random_peers = known(4)
    table.tman.exchange()
    assert [partner for partner, _ in environment.take(TManExchange)] == [4]


def test_who_knows_nobody_sends_nothing(environment: FakeEnvironment, table: Table) -> None:
    table.tman.exchange()
    assert not environment.outbox


def test_answers_a_request_once_with_what_it_knew_before(environment: FakeEnvironment, table: Table) -> None:
    table.entries = known(1)
    table.receive(7, from_peer(7, 8))
    ((receiver, answer),) = environment.take(TManExchange)
    assert receiver == 7
    assert answer.reply
    assert named(answer) == {SELF, 1}


def test_never_answers_a_reply(environment: FakeEnvironment, table: Table) -> None:
    table.receive(7, from_peer(7, 8, reply=True))
    assert not environment.outbox


@pytest.mark.parametrize("reply", [False, True])
def test_both_sides_select_anew_from_what_came(table: Table, reply: bool) -> None:
    table.receive(7, from_peer(7, 8, reply=reply))
    assert [[descriptor.peer for _, descriptor in told] for told in table.told] == [[7, 8]]


def test_what_is_told_says_when_each_peer_was_heard_from(environment: FakeEnvironment, table: Table) -> None:
    environment.now = 20.0
    table.receive(7, from_peer(1, 2, age_ms=5000))
    assert [(heard, descriptor.peer) for heard, descriptor in table.told[-1]] == [(15.0, 1), (15.0, 2)]
