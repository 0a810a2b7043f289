"""Hashed identifiers."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from emulator.contract import identifiers


def test_a_process_keeps_a_bounded_number_of_hashes() -> None:
    for peer in range(identifiers.REMEMBERED_HASHES + 100):
        identifiers.hash_of_peer(peer)
    information = identifiers.hash_of.cache_info()
    assert information.currsize == information.maxsize == identifiers.REMEMBERED_HASHES
    identifiers.hash_of.cache_clear()


def test_a_hash_is_the_first_16_bytes_of_sha_1() -> None:
    expected = int.from_bytes(hashlib.sha1(b"topic 3").digest()[:16], "big")
    assert identifiers.hash_of_topic(3) == expected


@given(st.lists(st.integers(0, 255), min_size=2, unique=True), st.integers(0, 255))
def test_clockwise_routes_make_the_way_shorter_up_to_the_last_hop(peers: list[int], key: int) -> None:
    """Each hop is the peer that is the furthest clockwise among some, and not beyond the key."""
    space = identifiers.ClockwiseRing(8)
    home = min(peers, key=lambda peer: space.distance(peer, key))
    here = peers[0]
    while here != home:
        before = [peer for peer in peers if 0 < (peer - here) % 256 < (key - here) % 256]
        hop = max(before, key=lambda peer: (peer - here) % 256, default=home)
        assert hop == home or space.way(hop, key) < space.way(here, key)
        here = hop
