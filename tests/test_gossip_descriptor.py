"""Profiles: utility (Vitis, equation 1), their encoding, and what merging sightings keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.gossip.descriptor import Descriptor, ages_ms, bits, decode, merge

A, B, C, D, E, F, G, H = range(8)
NEGLIGIBLE = 1e-9
topics = st.sets(st.integers(0, 5000), max_size=60)
rate = st.floats(2**-10, 1024, width=32)


def asking_for(*topics: int, peer: int = 1) -> Descriptor:
    return Descriptor.make(peer, 1, dict.fromkeys(topics, 1.0))


def test_utility_of_the_papers_example() -> None:
    p, q, r = asking_for(A, B, C), asking_for(C, D), asking_for(C, D, E, F, G, H)
    assert p.utility(q) == 0.25
    assert p.utility(r) == 0.125
    assert q.utility(r) == pytest.approx(1 / 3)


def test_a_topic_whose_rate_goes_to_zero_is_ignored() -> None:
    one = Descriptor.make(1, 1, {A: 1.0, B: 2.0, C: NEGLIGIBLE})
    other = Descriptor.make(2, 1, {A: 1.0, D: 3.0, C: NEGLIGIBLE, E: NEGLIGIBLE})
    assert one.utility(other) == pytest.approx(1 / 6)
    only_that = Descriptor.make(3, 1, {C: NEGLIGIBLE, F: 1.0})
    assert one.utility(only_that) == pytest.approx(0, abs=1e-6)


def test_a_shared_topic_counts_by_its_rate() -> None:
    one = Descriptor.make(1, 1, {A: 8.0, B: 1.0})
    busy, quiet = Descriptor.make(2, 1, {A: 8.0, C: 1.0}), Descriptor.make(3, 1, {B: 1.0, D: 8.0})
    assert one.utility(busy) == pytest.approx(0.8)
    assert one.utility(quiet) == pytest.approx(1 / 17)


@given(st.dictionaries(st.integers(0, 300), rate, max_size=40), st.data())
def test_utility_is_the_rate_shared_over_the_rate_of_both(
    rates: dict[int, float], data: st.DataObject
) -> None:
    def some(peer: int) -> Descriptor:
        chosen = data.draw(st.sets(st.sampled_from(sorted(rates)))) if rates else set()
        return Descriptor.make(peer, 1, {topic: rates[topic] for topic in chosen})

    one, other = some(1), some(2)
    assert 0 <= one.utility(other) <= 1
    assert one.utility(other) == pytest.approx(other.utility(one))
    shared = sum(rates[topic] for topic in set(one.topics) & set(other.topics))
    union = sum(rates[topic] for topic in set(one.topics) | set(other.topics))
    assert one.utility(other) == pytest.approx(shared / union if union else 0)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.dictionaries(st.integers(0, 5000), rate))
def test_a_profile_survives_its_encoding(peer: int, version: int, rates: dict[int, float]) -> None:
    made = Descriptor.make(peer, version, rates)
    read = decode(bytes(bytearray(made.encoded)))
    assert (read.peer, read.version, read.topics) == (peer, version, sorted(rates))
    assert bits(read.topic_set) == read.topics
    assert [read.position(topic) for topic in read.topics] == list(range(len(rates)))
    assert read.topic_count == len(rates)
    assert {topic: read.rate(topic) for topic in read.topics} == rates
    assert read.total_rate == pytest.approx(sum(rates.values()))


@given(topics)
def test_bits_are_the_topics_in_ascending_order(chosen: set[int]) -> None:
    assert bits(sum(1 << topic for topic in chosen)) == sorted(chosen)


sightings = st.lists(
    st.tuples(
        st.floats(0, 100),
        st.builds(lambda p, v: Descriptor.make(p, v, {v: 1.0}), st.integers(0, 4), st.integers(0, 6)),
    )
)


@given(st.lists(sightings, max_size=4))
def test_merging_keeps_the_newest_profile_and_the_latest_hearing(
    batches: list[list[tuple[float, Descriptor]]],
) -> None:
    merged: dict[int, tuple[float, Descriptor]] = {}
    for batch in batches:
        merge(merged, batch)
    heard = [sighting for batch in batches for sighting in batch]
    assert merged.keys() == {descriptor.peer for _, descriptor in heard}
    for peer, (when, descriptor) in merged.items():
        assert when == max(at for at, other in heard if other.peer == peer)
        assert descriptor.version == max(other.version for _, other in heard if other.peer == peer)


def test_ages_are_whole_milliseconds_and_never_negative() -> None:
    descriptor = asking_for(A)
    assert ages_ms([(1.0, descriptor), (9.9995, descriptor), (12.0, descriptor)], 10.0) == [9000, 0, 0]
