"""Sightings: what is kept of several, and how old they are told to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.gossip.sightings import Sightings, age_ms
from trellis.v1.overlay import Profile


def profile(session: int, version: int, peer: int = 7) -> Profile:
    return make_profile(peer, session, version, 99, {})


words = st.tuples(st.floats(0, 100), st.integers(0, 2), st.integers(0, 6))


@given(st.lists(words, min_size=1))
def test_renewing_keeps_the_latest_hearing_and_the_newest_profile(
    heard: list[tuple[float, int, int]],
) -> None:
    handles, known = ProfileHandles(), Sightings()
    at, session, version = heard[0]
    known.add(7, handles.take(profile(session, version)), at)
    for at, session, version in heard:
        known.renew(0, handles.take(profile(session, version)), at, handles)
    assert len(known) == 1
    assert known.heard[0] == max(at for at, _, _ in heard)
    newest = handles.profile(known.handles[0])
    assert (newest.session, newest.version) == max((s, v) for _, s, v in heard)


def test_a_list_that_was_cleared_is_filled_again() -> None:
    known = Sightings()
    known.add(7, 0, 1.0)
    known.add(8, 1, 2.0)
    known.clear()
    known.add(9, 2, 3.0)
    assert (len(known), known.find(9), known.find(8)) == (1, 0, -1)


def test_ages_are_whole_milliseconds_and_never_negative() -> None:
    assert [age_ms(heard, 10.0) for heard in (1.0, 9.9995, 12.0)] == [9000, 0, 0]


def test_a_message_tells_who_was_heard_from_and_when() -> None:
    handles, told = ProfileHandles(), Sightings()
    one, other = profile(0, 1), profile(0, 2, 8)
    assert told.tell([one, other], vec[i64]([0, 2500]), 20.0, handles) == ""
    assert (list(told.peers), list(told.heard)) == ([7, 8], [20.0, 17.5])
    assert [handles.profile(handle) for handle in told.handles] == [one, other]


@pytest.mark.parametrize("large", [(1 << 32, 0, 1), (1, 1 << 32, 1), (1, 0, 1 << 63)])
def test_a_message_that_tells_of_numbers_that_no_peer_has_tells_nothing(large: tuple[int, int, int]) -> None:
    peer, session, version = large
    told = Sightings()
    profiles = [profile(0, 1), Profile(peer, session, version, 99)]
    assert told.tell(profiles, vec[i64]([0, 1]), 20.0, ProfileHandles()) == "a profile in it names no peer"
    assert len(told) == 0


def test_the_largest_session_is_newer_than_any_other() -> None:
    handles, most = ProfileHandles(), (1 << 32) - 1
    largest, other = handles.take(profile(most, 0)), handles.take(profile(most - 1, most))
    assert handles.is_newer(largest, other)
    assert not handles.is_newer(other, largest)
    assert handles.is_newer(other, handles.take(profile(0, 1)))


def test_a_message_with_profiles_and_ages_that_do_not_fit_tells_nothing() -> None:
    told = Sightings()
    wrong = told.tell([profile(0, 1)], vec[i64]([0, 1]), 20.0, ProfileHandles())
    assert wrong == "its lists do not fit together"
    assert len(told) == 0
