"""Sightings: what is kept of two, and how old they are told to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.gossip.profiles import make_profile
from emulator.gossip.sightings import Sighting, age_ms, told
from trellis.v1.overlay import Profile


def profile(session: int, version: int) -> Profile:
    return make_profile(7, session, version, 99, {})


words = st.tuples(st.floats(0, 100), st.integers(0, 2), st.integers(0, 6))


@given(st.lists(words, min_size=1))
def test_adding_keeps_the_latest_hearing_and_the_newest_profile(heard: list[tuple[float, int, int]]) -> None:
    sightings = [Sighting(at, profile(session, version)) for at, session, version in heard]
    known = Sighting(sightings[0].heard, sightings[0].profile)
    for sighting in sightings:
        known.add(sighting)
    assert known.heard == max(at for at, _, _ in heard)
    assert (known.profile.session, known.profile.version) == max((s, v) for _, s, v in heard)


def test_ages_are_whole_milliseconds_and_never_negative() -> None:
    ages = [age_ms(Sighting(heard, profile(0, 1)), 10.0) for heard in (1.0, 9.9995, 12.0)]
    assert ages == [9000, 0, 0]


def test_a_message_tells_who_was_heard_from_and_when() -> None:
    one, other = profile(0, 1), profile(0, 2)
    sightings = told([one, other], [0, 2500], now=20.0)
    assert [(sighting.heard, sighting.profile) for sighting in sightings] == [(20.0, one), (17.5, other)]
