"""The index of places: what a dictionary would say, however many peers there are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.compact.peer_positions import NOWHERE, PeerPositions

peers = st.lists(st.integers(0, 5000), max_size=40)


@given(st.lists(peers, max_size=4))
def test_says_what_a_dictionary_would(turns: list[list[int]]) -> None:
    places = PeerPositions()
    for turn in turns:
        places.clear()
        known: dict[int, int] = {}
        for place, peer in enumerate(turn):
            assert places.note(peer, place) == known.setdefault(peer, place)
        for peer in {*turn, 0, 1, 4999, *(peer + 256 for peer in turn)}:
            assert places.find(peer) == known.get(peer, NOWHERE)


def test_grows_with_what_is_noted() -> None:
    places = PeerPositions()
    places.clear()
    for peer in range(3000):
        assert places.note(peer * 7, peer) == peer
    assert all(places.find(peer * 7) == peer for peer in range(3000))
    assert places.find(1) == NOWHERE
    places.clear()
    assert places.find(7) == NOWHERE
