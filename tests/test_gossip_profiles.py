"""Profiles: utility (Vitis, equation 1), their encoding, and which of two is newer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.compact.bit_sets import bit_set, bits
from emulator.protocols.gossip.profiles import make_profile, newer, rates_of, total_rate, utility
from trellis.v1.overlay import Profile

A, B, C, D, E, F, G, H = range(8)
NEGLIGIBLE = 1e-9
rate = st.floats(2**-10, 1024, width=32)


def weighing(rates: dict[int, float]) -> Profile:
    return make_profile(1, 0, 1, 99, rates)


def asking_for(*topics: int) -> Profile:
    return weighing(dict.fromkeys(topics, 1.0))


def test_utility_of_the_papers_example() -> None:
    p, q, r = asking_for(A, B, C), asking_for(C, D), asking_for(C, D, E, F, G, H)
    assert utility(p, q) == 0.25
    assert utility(p, r) == 0.125
    assert utility(q, r) == pytest.approx(1 / 3)


def test_a_topic_whose_rate_goes_to_zero_is_ignored() -> None:
    one = weighing({A: 1.0, B: 2.0, C: NEGLIGIBLE})
    other = weighing({A: 1.0, D: 3.0, C: NEGLIGIBLE, E: NEGLIGIBLE})
    assert utility(one, other) == pytest.approx(1 / 6)
    assert utility(one, weighing({C: NEGLIGIBLE, F: 1.0})) == pytest.approx(0, abs=1e-6)


def test_a_shared_topic_counts_by_its_rate() -> None:
    one = weighing({A: 8.0, B: 1.0})
    assert utility(one, weighing({A: 8.0, C: 1.0})) == pytest.approx(0.8)
    assert utility(one, weighing({B: 1.0, D: 8.0})) == pytest.approx(1 / 17)


@given(st.dictionaries(st.integers(0, 300), rate, max_size=40), st.data())
def test_utility_is_the_rate_shared_over_the_rate_of_both(
    rates: dict[int, float], data: st.DataObject
) -> None:
    def some() -> set[int]:
        return data.draw(st.sets(st.sampled_from(sorted(rates)))) if rates else set()

    ours, theirs = some(), some()
    one, other = weighing({t: rates[t] for t in ours}), weighing({t: rates[t] for t in theirs})
    assert 0 <= utility(one, other) <= 1
    assert utility(one, other) == pytest.approx(utility(other, one))
    shared, union = sum(rates[t] for t in ours & theirs), sum(rates[t] for t in ours | theirs)
    assert utility(one, other) == pytest.approx(shared / union if union else 0)


@given(st.integers(0, 2**32 - 1), st.integers(0, 9), st.dictionaries(st.integers(0, 5000), rate))
def test_a_profile_survives_its_encoding(peer: int, session: int, rates: dict[int, float]) -> None:
    made = make_profile(peer, session, 3, 1 << 127, rates)
    encoded = made.encode()
    read = Profile.read(encoded, 0, len(encoded))
    assert read == made
    assert len(encoded) == made.byte_size()
    assert (read.peer, read.session, read.version, read.identifier) == (peer, session, 3, 1 << 127)
    assert bits(read.topics) == sorted(rates)
    assert rates_of(read) == rates
    assert total_rate(read) == pytest.approx(sum(rates.values()))


def test_a_peer_weighs_its_own_topics_as_others_weigh_them() -> None:
    """Messages carry rates in single precision."""
    made = weighing({A: 0.1, B: 0.7})
    encoded = made.encode()
    read = Profile.read(encoded, 0, len(encoded))
    assert read.rates == made.rates
    assert utility(made, read) == 1.0


def test_profiles_with_equal_rates_carry_one_number() -> None:
    assert asking_for(A, B, C).rates == []
    assert asking_for(A, B, C).rate == 1.0
    assert len(weighing({A: 1.0, B: 2.0}).rates) == 2


def test_the_newer_profile_is_of_the_later_session_or_else_of_the_later_version() -> None:
    def of(session: int, version: int) -> Profile:
        return make_profile(1, session, version, 0, {})

    assert newer(of(0, 2), of(0, 1))
    assert newer(of(1, 1), of(0, 9))
    assert not newer(of(0, 9), of(1, 1))
    assert not newer(of(2, 2), of(2, 2))


@given(st.sets(st.integers(0, 5000), max_size=60))
def test_bits_are_the_numbers_of_a_set_in_ascending_order(chosen: set[int]) -> None:
    assert bits(bit_set(chosen)) == sorted(chosen)
