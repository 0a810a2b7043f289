"""T-Man: the exchange of routing tables (Vitis, Algorithms 2 and 3)."""

from __future__ import annotations

import pytest
from fake_environment import FakeEnvironment
from from_source import from_source
from librt.vecs import vec
from mypy_extensions import i64

from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.gossip.tman import TMan, Topology
from trellis.v1.overlay import Profile, TManExchange

pytestmark = from_source
SELF = 50


def profile(peer: int) -> Profile:
    return make_profile(peer, 0, 1, 1000 + peer, {})


class Table(Topology):
    """A routing table that takes whoever it hears of, and remembers what it was told."""

    def __init__(self, environment: FakeEnvironment) -> None:
        self.entries: list[int] = []
        self.random_peers: list[int] = []
        self.told: list[tuple[list[int], list[float]]] = []
        self.environment = environment
        self.handles = environment.shared(ProfileHandles)
        self.own = profile(SELF)
        self.tman = TMan(environment, self, most=20)

    def own_profile(self) -> Profile:
        return self.own

    def read_table(self, sightings: Sightings) -> None:
        self.read(self.entries, sightings)

    def read_sample(self, sightings: Sightings) -> None:
        self.read(self.random_peers, sightings)

    def read(self, peers: list[int], sightings: Sightings) -> None:
        for peer in peers:
            sightings.add(peer, self.handles.take(profile(peer)), 0.0)

    def select(self, told: Sightings) -> None:
        peers, heard = list(told.peers[: told.count]), list(told.heard[: told.count])
        self.told.append((peers, heard))
        self.entries = [*self.entries, *self.random_peers, *peers]

    def receive(self, sender: int, message: TManExchange) -> None:
        self.environment.hand_over(sender, message)


@pytest.fixture
def environment() -> FakeEnvironment:
    return FakeEnvironment(SELF)


@pytest.fixture
def table(environment: FakeEnvironment) -> Table:
    return Table(environment)


def from_peer(*peers: int, reply: bool = False, age_ms: int = 0) -> TManExchange:
    return TManExchange(
        reply=reply,
        profiles=[profile(peer) for peer in peers],
        ages_ms=vec[i64]([age_ms] * len(peers)),
    )


def named(message: TManExchange) -> set[int]:
    return {told.peer for told in message.profiles}


def test_sends_table_sample_and_itself_to_a_random_neighbour(
    environment: FakeEnvironment, table: Table
) -> None:
    table.entries, table.random_peers = [1, 2, 3], [3, 4]
    partners = set()
    for _ in range(30):
        table.tman.exchange()
        ((partner, message),) = environment.take(TManExchange)
        assert not message.reply
        assert named(message) == {SELF, 1, 2, 3, 4}
        assert len(message.profiles) == len(message.ages_ms) == 5
        partners.add(partner)
    assert partners == {1, 2, 3}


def test_an_empty_table_is_filled_from_the_sample_first(environment: FakeEnvironment, table: Table) -> None:
    table.random_peers = [4]
    table.tman.exchange()
    assert [partner for partner, _ in environment.take(TManExchange)] == [4]


def test_who_knows_nobody_sends_nothing(environment: FakeEnvironment, table: Table) -> None:
    table.tman.exchange()
    assert not environment.outbox


def test_answers_a_request_once_with_what_it_knew_before(environment: FakeEnvironment, table: Table) -> None:
    table.entries = [1]
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
    assert [peers for peers, _ in table.told] == [[7, 8]]


def test_what_is_told_says_when_each_peer_was_heard_from(environment: FakeEnvironment, table: Table) -> None:
    environment.advance(20.0)
    table.receive(7, from_peer(1, 2, age_ms=5000))
    assert table.told[-1] == ([1, 2], [15.0, 15.0])
