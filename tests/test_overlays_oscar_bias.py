"""Long links of OSCAR that prefer similar peers (Magnet, section 2.2)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from fake_environment import FakeEnvironment
from oscar_member import MemberAtZero
from test_overlays_oscar import HUNDREDTHS, partitions_of_sixteen
from test_overlays_oscar_sampling import sampling_at_zero

from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.overlays.oscar.links import LongLinks
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.protocols.overlays.oscar.partitions import Candidate, Partitions
from trellis.v1.oscar import LinkReply, LongLinkRequest, Sampled, Walk
from trellis.v1.overlay import Contact, Profile


def profile(peer: int) -> Profile:
    return make_profile(peer, 0, 1, peer, {1: 1.0})


def by_number(other: Profile) -> float:
    """Return the similarity of a peer, which is the greater the higher its number is."""
    return float(other.peer)


def candidate(peer: int, incoming: int = 0) -> Candidate:
    return Candidate(Contact(peer, peer), incoming, profile(peer))


def links(
    partitions: Partitions, seed: int, prefers: Callable[[Profile], float] = by_number
) -> FakeEnvironment:
    """Return a peer that takes one biased link from these partitions."""
    environment = FakeEnvironment(0, seed)
    LongLinks(
        environment,
        RingParameters(long_links=1),
        HUNDREDTHS.mask,
        MemberAtZero(),
        prefers,
    ).choose(partitions)
    return environment


def asked(environment: FakeEnvironment) -> list[tuple[int, int]]:
    """Return (peer, number of the request) of links that were asked for since the last look."""
    found = [(s.peer, s.request) for s in environment.outbox if isinstance(s.message, LongLinkRequest)]
    environment.outbox.clear()
    return found


def two_partitions() -> Partitions:
    """Return peer 9 with many links to it in the far partition, 3 with none in the near one."""
    partitions = Partitions()
    partitions.split([(9, candidate(9, incoming=30))])
    partitions.split([(3, candidate(3))])
    return partitions


def test_candidates_are_drawn_from_partitions_of_their_own() -> None:
    rng = random.Random(1)
    drawn = [[number for number, _ in partitions_of_sixteen().draw_each(rng)] for _ in range(4000)]
    for number in range(4):
        assert sum(one == number for one, _ in drawn) / 4000 == pytest.approx(1 / 4, abs=0.03)
    # Only the partition of one peer cannot give both.
    assert sum(one == other for one, other in drawn) / 4000 == pytest.approx(3 / 16, abs=0.03)
    assert [3, 3] not in drawn


@pytest.mark.parametrize("seed", range(8))
def test_the_more_similar_one_is_linked_to_whatever_its_load_and_the_other_is_drawn_again(seed: int) -> None:
    environment = links(two_partitions(), seed)
    ((first, request),) = asked(environment)
    assert first == 9
    environment.hand_over(9, LinkReply(False, 9), request=-request)
    assert [peer for peer, _ in asked(environment)] == [3]


def answer(environment: FakeEnvironment, walks: list[tuple[int, Walk]], peers: list[int]) -> None:
    """Have these walks end at these peers."""
    for (_, walk), peer in zip(walks, peers, strict=True):
        environment.hand_over(peer, Sampled(walk.number, Contact(peer, peer), 4, profile(peer)))


def test_successors_are_asked_for_their_interests_and_their_load() -> None:
    environment, sampling, found = sampling_at_zero([1, 2, 3], successors=8, asks_successors=True)
    sampling.begin(HUNDREDTHS.size)
    walks = environment.take(Walk)
    assert [(peer, walk.steps) for peer, walk in walks] == [(1, 0), (2, 0), (3, 0)]
    assert sampling.walked == 6
    answer(environment, walks, [1, 2, 3])
    (partitions,) = found
    assert partitions.sizes() == [2, 1]
    drawn = [one for _ in range(2) for _, one in partitions.draw_each(environment.random)]
    assert sorted((one.contact.peer, one.incoming) for one in drawn) == [(1, 4), (2, 4), (3, 4)]
    assert all(one.profile == profile(one.contact.peer) for one in drawn)


def test_successors_that_do_not_answer_are_partitioned_all_the_same() -> None:
    environment, sampling, found = sampling_at_zero([1, 2, 3], successors=8, asks_successors=True)
    sampling.begin(HUNDREDTHS.size)
    answer(environment, environment.take(Walk)[1:2], [2])
    environment.advance(1.9)
    assert found == []
    environment.advance(0.2)
    assert [partitions.sizes() for partitions in found] == [[2, 1]]
    assert not sampling.under_way


def far_peers_and_successors() -> Partitions:
    """Walks have ended at 10, 50, 60 and 70 in the far partitions; 1, 2 and 3 are in the last two of five."""
    environment, sampling, found = sampling_at_zero([1, 2, 3, 4], successors=4, asks_successors=True)
    sampling.begin(HUNDREDTHS.size)
    for ends in ([50, 60, 70], [10] * 3, [4] * 3, [1, 2, 3]):
        answer(environment, environment.take(Walk), ends)
    return found[0]


def test_similar_successors_win_against_peers_that_walks_have_found() -> None:
    assert far_peers_and_successors().sizes() == [2, 1, 1, 2, 1]
    near = 0
    for seed in range(200):
        drawn = links(far_peers_and_successors(), seed, prefers=lambda other: 1 / other.peer)
        near += asked(drawn)[0][0] in (1, 2, 3)
    # One of the two is from the partitions of the successors, which are two of five, in 16 of 25 draws.
    assert near / 200 == pytest.approx(16 / 25, abs=0.1)


def test_without_bias_no_successor_is_asked() -> None:
    environment, sampling, found = sampling_at_zero([1, 2, 3], successors=8)
    sampling.begin(HUNDREDTHS.size)
    assert environment.outbox == []
    assert [partitions.sizes() for partitions in found] == [[2, 1]]
