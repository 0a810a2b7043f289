"""Sightings: what is kept of several, and how old they are told to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.gossip.sightings import Sightings, age_ms, told
from trellis.v1.overlay import Profile


def profile(session: int, version: int, peer: int = 7) -> Profile:
    return make_profile(peer, session, version, 99, {})


def sightings(*heard: float) -> Sightings:
    """Return sightings of peers 0, 1 and so on."""
    made = Sightings()
    for peer, at in enumerate(heard):
        made.add(profile(0, 1, peer), at)
    return made


words = st.tuples(st.floats(0, 100), st.integers(0, 2), st.integers(0, 6))


@given(st.lists(words, min_size=1))
def test_renewing_keeps_the_latest_hearing_and_the_newest_profile(
    heard: list[tuple[float, int, int]],
) -> None:
    known = Sightings()
    at, session, version = heard[0]
    known.add(profile(session, version), at)
    for at, session, version in heard:
        known.renew(0, profile(session, version), at)
    assert len(known) == 1
    assert known.heard[0] == max(at for at, _, _ in heard)
    newest = known.profiles[0]
    assert (newest.session, newest.version) == max((s, v) for _, s, v in heard)


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 12))
def test_the_freshest_come_first_and_equals_stay_in_their_order(heard: list[int], count: int) -> None:
    freshest = sightings(*heard).freshest(count)
    order = sorted(range(len(heard)), key=lambda peer: -heard[peer])[:count]
    assert list(freshest.peers) == [each.peer for each in freshest.profiles] == order
    assert list(freshest.heard) == [heard[peer] for peer in order]


def test_a_copy_is_changed_by_itself() -> None:
    original = sightings(1.0, 2.0)
    copied = original.copy()
    copied.renew(0, profile(0, 2, 0), 9.0)
    copied.add(profile(0, 1, 5), 3.0)
    assert list(original.heard) == [1.0, 2.0]
    assert original.profiles[0].version == 1
    assert list(original.peers) == [0, 1]


def test_one_peer_can_be_left_out() -> None:
    left = sightings(1.0, 2.0, 3.0).without(1)
    assert (list(left.peers), list(left.heard)) == ([0, 2], [1.0, 3.0])


def test_ages_are_whole_milliseconds_and_never_negative() -> None:
    assert [age_ms(heard, 10.0) for heard in (1.0, 9.9995, 12.0)] == [9000, 0, 0]


def test_a_message_tells_who_was_heard_from_and_when() -> None:
    one, other = profile(0, 1), profile(0, 2, 8)
    found = told([one, other], vec[i64]([0, 2500]), now=20.0)
    assert (list(found.peers), list(found.heard)) == ([7, 8], [20.0, 17.5])
    assert found.profiles == [one, other]


def test_a_message_with_profiles_and_ages_that_do_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="1 profiles with 2 ages"):
        told([profile(0, 1)], vec[i64]([0, 1]), now=20.0)
