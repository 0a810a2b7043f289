"""The choice of links by OPT: what a topic lacks, and which peer brings most of it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from opt_peer import profile

from emulator.compact.bit_sets import bit_set, bits
from emulator.protocols.pubsub.opt.candidates import Candidates
from emulator.protocols.pubsub.opt.coverage import Coverage
from trellis.v1.overlay import Profile


@given(st.lists(st.sets(st.integers(0, 9)), max_size=12), st.integers(1, 4))
def test_a_topic_lacks_until_it_is_covered_often_enough(neighbours: list[set[int]], wanted: int) -> None:
    own = set(range(6))
    coverage = Coverage(bit_set(own), wanted)
    for those in neighbours:
        coverage.add(bit_set(those))
    counts = {topic: sum(topic in those for those in neighbours) for topic in own}
    assert set(bits(coverage.lacking)) == {topic for topic in own if counts[topic] < wanted}
    for those in neighbours:
        coverage.remove(bit_set(those))
    assert set(bits(coverage.lacking)) == own


def candidates(
    known: Sequence[Profile], lacking: int, *, neighbours: Sequence[int] = (), seed: int = 1
) -> Candidates:
    made = Candidates(neighbours, random.Random(seed))
    made.fill(known, lacking)
    return made


def test_greedy_choice_takes_the_peer_that_brings_most_of_what_lacks() -> None:
    known = [profile(1, 0, 1, 2, 9), profile(2, 3, 4, 5, 6), profile(3, 3)]
    most = bit_set([3, 4, 0])
    assert candidates(known, most).choose_greedily(most) is known[1]
    assert candidates(known, most, neighbours=[2]).choose_greedily(most) in (known[0], known[2])
    assert candidates(known, bit_set([7])).choose_greedily(bit_set([7])) is None
    less = bit_set([0, 3])
    assert {candidates(known, most, seed=n).choose_greedily(less).peer for n in range(50)} == {1, 2, 3}  # type: ignore[union-attr]
    assert {candidates(known, 0, seed=n).choose_randomly(less & most & ~1).peer for n in range(50)} == {2, 3}  # type: ignore[union-attr]
    assert candidates(known, most).choose_randomly(bit_set([7])) is None


@given(st.lists(st.sets(st.integers(0, 6)), max_size=12), st.lists(st.integers(0, 6)), st.integers(0, 100))
def test_greedy_choice_is_the_best_however_what_lacks_has_shrunk(
    topics: list[set[int]], covered: list[int], seed: int
) -> None:
    known = [profile(peer, *those) for peer, those in enumerate(topics)]
    lacking = bit_set(range(7))
    made = candidates(known, lacking, seed=seed)
    left = dict(enumerate(topics))
    for topic in [*covered, *range(7)]:
        chosen = made.choose_greedily(lacking)
        brought = {peer: len(those & set(bits(lacking))) for peer, those in left.items()}
        most = max(brought.values(), default=0)
        assert (chosen is None) == (most == 0)
        if chosen is not None:
            assert brought[chosen.peer] == most
            del left[chosen.peer]
        lacking &= ~(1 << topic)


def test_a_peer_that_refused_is_chosen_again_when_it_is_forgiven_and_still_known() -> None:
    known = [profile(1, 0), profile(2, 0)]
    lacking = bit_set([0])
    made = candidates(known, lacking)
    for at, choose in enumerate([made.choose_greedily, made.choose_greedily, made.choose_randomly]):
        chosen = choose(lacking)
        if at < 2:
            assert chosen is not None
            made.refused(chosen, float(at), was_random=False)
        else:
            assert chosen is None
    made.forgive(1.0, lacking)
    first = made.choose_greedily(lacking)
    assert first is not None
    assert made.choose_greedily(lacking) is None, "the other one is not forgiven"
    assert made.choose_randomly(lacking) is first
    made.fill([], lacking)
    made.forgive(9.0, lacking)
    assert made.choose_greedily(lacking) is None, "nobody is known any more"
