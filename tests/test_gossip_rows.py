"""The stores of a host's peers: views, exchanges and profiles as rows do what plain objects would do."""

from __future__ import annotations

from fake_environment import FakeEnvironment
from from_source import from_source
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from emulator.compact.peer_rows import NO_ROW, PeerRows
from emulator.contract.message_pool import MessagePool
from emulator.protocols.gossip.exchanges import ExchangePartner, Exchanges
from emulator.protocols.gossip.newscast import Newscast
from emulator.protocols.gossip.profile_handles import HandleKeeper, ProfileHandles
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.gossip.views import Views
from trellis.v1.overlay import NewscastExchange, Profile, TManExchange

OWN = 0
SIZE = 5
news = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(1, 3)), max_size=12, unique_by=lambda n: n[0]
)
"""Peers with when they were heard from (s) and the version of their profile."""


def profile(peer: int, version: int = 1, topics: int = 0) -> Profile:
    return make_profile(peer, 0, version, 1000 + peer, dict.fromkeys(range(topics), 1.0))


def sightings(handles: ProfileHandles, told: list[tuple[int, int, int]]) -> Sightings:
    made = Sightings()
    for peer, heard, version in told:
        made.add(peer, handles.take(profile(peer, version)), float(heard))
    return made


@given(st.lists(st.tuples(st.integers(0, 2), news), max_size=8))
def test_a_view_is_what_a_merge_of_dictionaries_gives(
    merges: list[tuple[int, list[tuple[int, int, int]]]],
) -> None:
    handles = ProfileHandles()
    views = Views("", handles, SIZE)
    plain: list[dict[int, tuple[int, int]]] = [{}, {}, {}]
    for row in range(3):
        views.empty(row)
    for row, told in merges:
        views.merge(row, OWN, sightings(handles, told))
        merged = dict(plain[row])
        for peer, heard, version in told:
            if peer != OWN:
                at, known = merged.get(peer, (heard, version))
                merged[peer] = max(at, heard), max(known, version)
        if len(merged) > SIZE:
            merged = dict(sorted(merged.items(), key=lambda each: -each[1][0])[:SIZE])
        plain[row] = merged
        for each in range(3):
            seen = Sightings()
            views.read(each, seen)
            versions = [handles.profile(handle).version for handle in seen.handles[: seen.count]]
            kept = list(zip(seen.peers[: seen.count], seen.heard[: seen.count], versions, strict=True))
            assert kept == [(peer, heard, version) for peer, (heard, version) in plain[each].items()]


def test_a_peer_is_removed_from_one_view_alone() -> None:
    handles = ProfileHandles()
    views = Views("", handles, SIZE)
    for row in (0, 1):
        views.empty(row)
        views.merge(row, OWN, sightings(handles, [(1, 1, 1), (2, 1, 1), (3, 1, 1)]))
    assert handles.profile(views.remove(0, 2)).peer == 2
    assert views.remove(0, 9) == -1
    assert [[views.peer(row, place) for place in range(views.count(row))] for row in (0, 1)] == [
        [1, 3],
        [1, 2, 3],
    ]


class Partner(ExchangePartner):
    def __init__(self) -> None:
        self.came: list[tuple[int, bool, list[int], list[float]]] = []

    def take_exchange(self, sender: int, reply: bool, told: Sightings) -> None:
        self.came.append((sender, reply, list(told.peers[: told.count]), list(told.heard[: told.count])))


ages = st.dictionaries(
    st.integers(0, 400), st.tuples(st.integers(0, 30_000), st.integers(0, 40)), max_size=30
)


@from_source
@given(ages, st.booleans(), st.sampled_from([NewscastExchange, TManExchange]))
def test_a_row_is_as_large_as_its_message_and_tells_the_same(
    ages: dict[int, tuple[int, int]], reply: bool, kind: type[NewscastExchange] | type[TManExchange]
) -> None:
    rows, handles = PeerRows(), ProfileHandles()
    exchanges, partner = Exchanges("", kind, rows, handles, 30), Partner()
    exchanges.join(rows.row(7), partner)
    known = Sightings()
    for peer, (age, topics) in ages.items():
        known.add(peer, handles.take(profile(peer, topics=topics)), 100.0 - age / 1000)
    row = exchanges.compose(reply, known, 100.0)
    message = exchanges.view(row)
    assert exchanges.byte_size(row) == message.byte_size() == len(message.encode())
    assert [told.peer for told in message.profiles] == list(ages)
    assert exchanges.receive(7, 3, row, 100.0)
    came = Sightings()
    assert came.tell(message.profiles, message.ages_ms, 100.0, handles) == ""
    assert partner.came == [(3, reply, list(came.peers), list(came.heard))]
    assert not exchanges.receive(8, 3, row, 100.0)


def test_a_row_that_nobody_holds_is_used_again_and_no_other() -> None:
    rows, handles = PeerRows(), ProfileHandles()
    exchanges = Exchanges("", NewscastExchange, rows, handles, 4)
    first = exchanges.compose(False, Sightings(), 0.0)
    exchanges.hold(first)
    exchanges.release(first)
    second = exchanges.compose(False, Sightings(), 0.0)
    exchanges.release(first)
    assert first != second
    assert exchanges.compose(False, Sightings(), 0.0) == first


class Keeper(HandleKeeper):
    def __init__(self, kept: set[int]) -> None:
        self.kept = kept

    def mark(self, kept: vec[i64]) -> None:
        for handle in self.kept:
            kept[handle] = 1


@from_source
def test_profiles_that_no_store_keeps_are_freed_and_the_others_keep_their_handles() -> None:
    handles = ProfileHandles()
    made = [profile(peer) for peer in range(5000)]
    numbers = [handles.take(each) for each in made]
    keeper = Keeper(set(numbers[::2]))
    handles.add_keeper(keeper)
    handles.tidy()
    assert [handles.profile(number) for number in numbers[::2]] == made[::2]
    assert [handles.take(each) for each in made[::2]] == numbers[::2]
    assert sorted(handles.take(profile(peer)) for peer in range(6000, 8500)) == numbers[1::2]
    assert handles.sweeps == 1


def test_a_profile_that_another_host_knows_gets_a_handle_of_its_own() -> None:
    one, other, told = ProfileHandles(), ProfileHandles(), profile(3)
    other.take(profile(1))
    assert (one.take(told), other.take(told), other.peer(other.take(told))) == (0, 1, 3)
    assert one.profile(one.take(told)) is told


@given(st.lists(st.integers(0, 1 << 32), max_size=20))
def test_each_peer_has_a_row_of_its_own(peers: list[int]) -> None:
    rows = PeerRows()
    found = {peer: rows.row(peer) for peer in peers}
    assert sorted(found.values()) == list(range(len(found)))
    assert all(rows.find(peer) == row for peer, row in found.items())
    assert rows.find(5) == found.get(5, NO_ROW)


class Rows(FakeEnvironment):
    """An environment that passes rows on as the virtual clock does."""

    def send_row(self, peer: int, pool: MessagePool, row: i64) -> None:
        pool.hold(row)
        self.sent = (peer, pool, row)


def test_a_row_arrives_at_the_component_of_the_receiver_on_this_channel() -> None:
    shared: dict[object, object] = {}
    environments = [Rows(peer) for peer in (4, 5)]
    newscasts = []
    for environment in environments:
        environment.fake.shared = shared
        own = profile(environment.peer)
        newscasts.append(Newscast(environment, lambda own=own: own, view_size=4, period=1.0))  # type: ignore[misc]
    newscasts[0].start([5])
    peer, pool, row = environments[0].sent
    assert pool.receive(peer, 4, row, 0.0)
    assert [told.peer for told in newscasts[1].view()] == [4]
    assert environments[1].sent[0] == 4
