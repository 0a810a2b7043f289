"""Hashed identifiers."""

from __future__ import annotations

import hashlib

from emulator import identifiers


def test_a_process_keeps_a_bounded_number_of_hashes() -> None:
    for peer in range(identifiers.REMEMBERED_HASHES + 100):
        identifiers.hash_of_peer(peer)
    information = identifiers.hash_of.cache_info()
    assert information.currsize == information.maxsize == identifiers.REMEMBERED_HASHES
    identifiers.hash_of.cache_clear()


def test_a_hash_is_the_first_16_bytes_of_sha_1() -> None:
    expected = int.from_bytes(hashlib.sha1(b"topic 3").digest()[:16], "big")
    assert identifiers.hash_of_topic(3) == expected
