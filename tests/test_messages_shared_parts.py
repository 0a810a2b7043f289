"""Parts of messages that many messages share: one object, encoded once."""

from __future__ import annotations

import pytest

from emulator.messages import catalogue
from emulator.messages.message import MalformedMessage
from trellis.v1.overlay import NewscastExchange, Profile


def test_shared_parts_with_equal_bytes_are_one_object_and_others_are_not() -> None:
    profiles = [Profile(peer=peer, topics=(1 << 4000) - 1, rate=0.5) for peer in (3, 4)]
    encoded = NewscastExchange(True, profiles).encode()
    first, second = (catalogue.decode("NewscastExchange", bytes(bytearray(encoded))) for _ in range(2))
    assert isinstance(first, NewscastExchange) and isinstance(second, NewscastExchange)
    assert first.profiles == profiles and first is not second
    assert all(one is other for one, other in zip(first.profiles, second.profiles, strict=True))
    assert first.profiles[0].topics is first.profiles[1].topics
    assert first.encode() == encoded


def test_a_shared_part_is_encoded_once_and_refused_each_time_that_it_is_malformed() -> None:
    profile = Profile(peer=3, session=1, identifier=1 << 100)
    assert profile.encode() == profile.encode() == Profile(3, 1, identifier=1 << 100).encode()
    assert len(profile.encode()) == profile.byte_size()
    for _ in range(2):
        with pytest.raises(MalformedMessage):
            Profile.read(b"\x08", 0, 1)
