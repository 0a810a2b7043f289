"""Elections read the gateways that peers propose from columns."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fake_environment import FakeEnvironment
from librt.vecs import vec
from mypy_extensions import i64

from emulator.compact.peer_rows import PeerRows
from emulator.contract.identifiers import hash_of_peer
from emulator.protocols.gossip.profile_handles import ProfileHandles, place_of
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.overlays.small_world.heartbeats import Heartbeats
from emulator.protocols.overlays.small_world.overlay import SmallWorld
from emulator.protocols.pubsub.vitis.parameters import VitisParameters
from emulator.protocols.pubsub.vitis.proposal_columns import ProposalColumns
from trellis.v1.overlay import Contact, Profile, ProfileExchange
from trellis.v1.pubsub import Proposals

PEER = 7
ROW = 0


def profile(topics: int = 3, version: int = 1) -> Profile:
    return make_profile(PEER, 0, version, hash_of_peer(PEER), dict.fromkeys(range(topics), 1.0))


def proposals(gateways: Sequence[int], hops: int = 1, relayed: int = 0) -> Proposals:
    """Return proposals of these gateways, one for each topic, all reached through peer 4."""
    known = sorted(set(gateways))
    return Proposals(
        [Contact(gateway, hash_of_peer(gateway)) for gateway in known],
        vec[i64]([known.index(gateway) for gateway in gateways]),
        vec[i64]([4] * len(gateways)),
        vec[i64]([hops] * len(gateways)),
        relayed,
    )


class Host:
    """The heartbeats of a host, and the proposals on them."""

    def __init__(self) -> None:
        profiles = ProfileHandles()
        self.heartbeats = Heartbeats("overlay", PeerRows(), profiles)
        self.columns = ProposalColumns(self.heartbeats, profiles)

    def take(self, said: Profile, rider: Proposals) -> int:
        return int(self.heartbeats.take(ProfileExchange(False, said, rider)))

    def told(self, heartbeat: int) -> list[tuple[int, ...]]:
        columns, first = self.columns, int(self.columns.firsts[i64(heartbeat)])
        count = len(bits_of(self.heartbeats.view(heartbeat)))
        told = []
        for at in range(first, first + count):
            contact = columns.gateways[i64(at)]
            peer, place = columns.peers[i64(contact)], columns.places[i64(contact)]
            assert columns.contacts[contact].peer == peer
            told.append((int(peer), int(place), int(columns.parents[i64(at)]), int(columns.hops[i64(at)])))
        return told


def bits_of(message: ProfileExchange) -> range:
    assert message.profile is not None
    return range(message.profile.topics.bit_count())


def test_each_topic_has_its_gateway_with_place_and_way() -> None:
    host = Host()
    heartbeat = host.take(profile(), proposals([9, 5, 9], hops=2))
    place = {peer: int(place_of(hash_of_peer(peer))) for peer in (5, 9)}
    assert host.told(heartbeat) == [(9, place[9], 4, 2), (5, place[5], 4, 2), (9, place[9], 4, 2)]


def test_what_an_election_expects_is_written_as_it_would_be_looked_up() -> None:
    looked_up, expecting = Host(), Host()
    rider = proposals([9, 5, 9])
    known = {contact.peer: expecting.columns.number(contact) for contact in rider.gateways}
    expecting.columns.expect(rider, vec[i64]([known[gateway] for gateway in (9, 5, 9)]))
    said = profile()
    assert expecting.told(expecting.take(said, rider)) == looked_up.told(looked_up.take(said, rider))
    other = proposals([1, 2, 3])
    assert expecting.told(expecting.take(said, other)) == looked_up.told(looked_up.take(said, other))


def test_a_heartbeat_and_a_reply_that_say_the_same_share_their_proposals() -> None:
    host, said, rider = Host(), profile(), proposals([9, 5, 9])
    host.heartbeats.join(ROW, SmallWorld(FakeEnvironment(PEER), VitisParameters(), small_world_links=1))
    heartbeat = host.heartbeats.own(ROW, False, said, rider)
    reply = host.heartbeats.own(ROW, True, said, rider)
    assert heartbeat != reply
    assert host.columns.firsts[heartbeat] == host.columns.firsts[reply]
    host.heartbeats.hold(reply)
    host.heartbeats.own(ROW, False, said, proposals([1, 1, 1]))
    host.take(said, proposals([2, 2, 2]))
    assert [gateway for gateway, *_ in host.told(int(reply))] == [9, 5, 9]


def test_rows_that_are_used_again_take_no_more_room() -> None:
    host, said = Host(), profile()
    for gateway in range(50):
        host.heartbeats.release(host.take(said, proposals([gateway] * 3)))
    assert len(host.columns.gateways) == 3


@pytest.mark.parametrize(
    ("other", "plain", "differ"),
    [
        (proposals([9, 5, 9]), False, False),
        (proposals([9, 5, 5]), True, True),
        (proposals([9, 5, 9], hops=2), True, True),
        (proposals([9, 5, 9], relayed=1), False, True),
    ],
)
def test_heartbeats_are_told_apart_by_columns_where_these_show_it(
    other: Proposals, plain: bool, differ: bool
) -> None:
    host, said = Host(), profile()
    one, two = host.take(said, proposals([9, 5, 9])), host.take(said, other)
    assert host.columns.differ(one, two) == plain
    assert host.heartbeats.differ(one, two) == differ


def test_heartbeats_with_other_profiles_differ() -> None:
    host = Host()
    one, two = host.take(profile(), proposals([9, 5, 9])), host.take(profile(version=2), proposals([9, 5, 9]))
    assert host.heartbeats.differ(one, two)


def test_proposals_that_do_not_fit_their_profile_are_not_written() -> None:
    host = Host()
    heartbeat = host.take(profile(), proposals([9, 5]))
    assert host.columns.firsts[i64(heartbeat)] < 0


def test_a_contact_has_one_number_and_another_identifier_another() -> None:
    columns = Host().columns
    first = columns.number(Contact(9, hash_of_peer(9)))
    assert columns.number(Contact(9, hash_of_peer(5))) != first
    assert columns.number(Contact(9, hash_of_peer(9))) == first
    assert len(columns.contacts) == len(columns.peers) == len(columns.places) == 2


def test_numbers_that_no_column_holds_stand_for_a_peer_that_nobody_is() -> None:
    host = Host()
    rider = Proposals([Contact(9, 1)], vec[i64]([0]), vec[i64]([2**32 - 1]), vec[i64]([2**32 - 1]))
    assert host.told(host.take(profile(1), rider))[0][2:] == (2**31 - 1, 2**31 - 1)
