"""OSCAR's sampling: where walks go, what becomes of lost ones, how many partitions there are, and when."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import mean

import pytest
from fake_environment import FakeEnvironment
from oscar_member import MemberAtZero
from test_overlays_oscar import HUNDREDTHS, PEERS, network, oscar_at

from emulator.protocols.overlays.oscar.overlay import Oscar
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.protocols.overlays.oscar.partitions import Partitions
from emulator.protocols.overlays.oscar.ring import RingNeighbours
from emulator.protocols.overlays.oscar.sampling import Sampling
from trellis.v1.oscar import Sampled, Walk
from trellis.v1.overlay import Contact

SIZE = HUNDREDTHS.size


def at(peer: int) -> Contact:
    """Return a peer whose number is its identifier."""
    return Contact(peer, peer)


def sampling_at_zero(
    neighbours: list[int], successors: int = 2, samples: int = 3, asks_successors: bool = False
) -> tuple[FakeEnvironment, Sampling, list[Partitions]]:
    """Return the sampling of peer 0 with these neighbours, and what it has found."""
    environment = FakeEnvironment(0)
    parameters = RingParameters(successors=successors, samples=samples)
    ring = RingNeighbours(HUNDREDTHS, 0, successors)
    ring.learn(map(at, neighbours))
    found: list[Partitions] = []
    sampling = Sampling(
        environment,
        parameters,
        ring,
        MemberAtZero([at(peer) for peer in neighbours]),
        lambda: None,
        asks_successors,
        found.append,
    )
    return environment, sampling, found


def test_a_walk_takes_all_its_steps_inside_its_range_and_its_last_peer_answers() -> None:
    world = network(3)
    oscar = oscar_at(world, 0)
    places = {peer: oscar_at(world, peer).identifier for peer in world.protocols}
    oscar._sampling.begin(oscar.space.size)
    planned = oscar._sampling.walked
    world.sent.clear()
    world.exchange(only=[Walk, Sampled])
    steps: dict[int, list[tuple[int, int, Walk]]] = defaultdict(list)
    for sender, receiver, message in world.sent:
        if isinstance(message, Walk) and message.origin == 0:
            steps[message.number].append((sender, receiver, message))
    answers = {m.number: sender for sender, to, m in world.sent if isinstance(m, Sampled) and to == 0}
    assert len(steps) >= 2 * 10, "two levels of walks at least"
    assert len({walks[0][2].reach for walks in steps.values()}) >= 2
    for number, walks in steps.items():
        assert [walk.steps for _, _, walk in walks] == list(range(len(walks)))[::-1]
        assert len(walks) >= 3
        assert all(0 < (places[to] - walk.low) % 2**128 < walk.reach for _, to, walk in walks)
        assert [sender for sender, _, _ in walks] == [0, *(to for _, to, _ in walks[:-1])]
        assert answers[number] == walks[-1][1]
    counted = oscar._sampling.walked - planned + 10 * len(steps[min(steps)]) + 10
    assert counted == sum(len(walks) + 1 for walks in steps.values())


def test_a_walk_ends_at_a_peer_that_knows_no_other_inside_its_range() -> None:
    environment, _, _ = sampling_at_zero([5, 90])
    environment.hand_over(7, Walk(9, 1, SIZE - 10, 40, 4))
    assert environment.take(Walk) == [(5, Walk(9, 1, SIZE - 10, 40, 3))]
    environment.hand_over(7, Walk(9, 1, SIZE - 10, 12, 4))
    assert environment.take(Sampled) == [(9, Sampled(1, at(0), 0, None))]
    environment.hand_over(7, Walk(9, 1, SIZE - 10, 40, 0))
    assert environment.take(Sampled) == [(9, Sampled(1, at(0), 0, None))]


def test_a_walk_that_does_not_come_back_is_left_out_when_its_time_is_over() -> None:
    environment, sampling, _ = sampling_at_zero([1, 2])
    sampling.begin(SIZE)
    first = [walk.number for _, walk in environment.take(Walk)]
    for number, peer in zip(first[:2], (50, 90), strict=True):
        environment.hand_over(peer, Sampled(number, at(peer), 0, None))
    environment.advance(1.9)
    assert environment.take(Walk) == []
    environment.advance(0.2)
    # The median of the two that came back is 90: the next level is what lies before it.
    second = environment.take(Walk)
    assert [walk.reach for _, walk in second] == [90] * 3
    environment.hand_over(80, Sampled(first[2], at(80), 0, None))
    environment.hand_over(60, Sampled(second[0][1].number, at(60), 0, None))
    environment.advance(2.0)
    assert [walk.reach for _, walk in environment.take(Walk)] == [60] * 3, "what comes late counts nowhere"


def test_a_sampling_of_which_no_walk_comes_back_ends_with_what_there_is() -> None:
    environment, sampling, found = sampling_at_zero([1, 2])
    sampling.begin(SIZE)
    assert found == []
    environment.advance(2.0)
    assert [len(partitions) for partitions in found] == [0]
    assert not sampling.under_way


@pytest.mark.parametrize("peers", [2, 3, 4, 5, 16, 17, 40, 64, 65])
def test_there_are_as_many_partitions_as_halvings_until_one_peer_is_left(peers: int) -> None:
    _, sampling, found = sampling_at_zero(list(range(1, peers)), successors=peers)
    sampling.begin(SIZE)
    assert len(found[0]) == sampling.levels == math.ceil(math.log2(peers))


def test_sampled_partitions_are_at_most_two_fewer_than_exact_medians_give() -> None:
    """Walks begin at the peer and are short, so that they find more of those that are near."""
    worlds = [network(seed) for seed in (1, 2)]
    found = [oscar_at(world, peer)._sampling.levels for world in worlds for peer in range(PEERS)]
    exact = math.ceil(math.log2(PEERS))
    assert exact - 2 <= mean(found) <= exact


def wired(successors: int = 8) -> tuple[FakeEnvironment, Oscar]:
    """Return a peer that has wired twice, the last time at 100 s."""
    environment = FakeEnvironment(0)
    oscar = Oscar(environment, RingParameters(successors=successors), space=HUNDREDTHS)
    oscar.settle_at(0, [], lambda: None)
    oscar.ring.learn(map(at, range(1, 1 + successors)))
    environment.advance(100.0)
    oscar._wiring.wire(Partitions())
    oscar._wiring.wire(Partitions())
    return environment, oscar


def replace(oscar: Oscar, count: int) -> None:
    for peer in range(1, 1 + count):
        oscar.ring.drop(peer)
    oscar.ring.learn(at(20 + peer) for peer in range(count))


def test_a_peer_samples_anew_when_more_than_half_of_its_successors_are_others() -> None:
    for changed, due in ((0, False), (4, False), (5, True), (8, True)):
        environment, oscar = wired()
        replace(oscar, changed)
        environment.advance(60.0)
        assert oscar._wiring.is_due() is due


def test_a_peer_samples_anew_no_sooner_than_told_and_no_later_than_half_as_much_again() -> None:
    environment, oscar = wired()
    replace(oscar, 8)
    environment.advance(29.9)
    assert not oscar._wiring.is_due()
    environment.advance(15.1)
    assert oscar._wiring.is_due()


def test_a_newcomer_wires_as_soon_as_it_has_a_successor_and_a_second_time_whatever_has_changed() -> None:
    environment = FakeEnvironment(0)
    oscar = Oscar(environment, RingParameters(), space=HUNDREDTHS)
    oscar.settle_at(0, [], lambda: None)
    assert not oscar._wiring.is_due()
    oscar.ring.learn([at(1)])
    assert oscar._wiring.is_due()
    oscar._wiring.wire(Partitions())
    assert not oscar._wiring.is_due()
    environment.advance(45.0)
    assert oscar._wiring.is_due()
