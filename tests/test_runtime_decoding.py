"""What arrives as bytes: the same object for the same bytes, and a memory that does not grow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.messages.catalogue import decode
from emulator.messages.message import MalformedMessage
from emulator.runtime.realtime.decoding import Decoder
from trellis.v1.overlay import NewscastExchange, Profile, ProfileExchange, TManExchange


def heartbeat(peer: int) -> tuple[str, bytes]:
    message = ProfileExchange(False, Profile(peer=peer, identifier=1 << 100, topics=(1 << 4000) - 1), None)
    return message.NAME, message.encode()


def test_what_has_come_twice_is_the_same_object_from_then_on() -> None:
    decoder = Decoder(100)
    kind, payload = heartbeat(3)
    first, second, third = (decoder.decode(kind, bytes(bytearray(payload))) for _ in range(3))
    assert first == second == decode(kind, payload)
    assert second is third


def test_what_a_peer_says_every_round_is_remembered_and_the_rest_forgotten() -> None:
    decoder = Decoder(generation=10)
    steady = heartbeat(0)
    told = [decoder.decode(*steady) for _ in range(2)][1]
    for peer in range(1, 500):
        decoder.decode(*heartbeat(peer))
        if peer % 9 == 0:
            assert decoder.decode(*steady) is told
        assert len(decoder) <= 20
    for peer in range(500, 520):
        decoder.decode(*heartbeat(peer))
    assert decoder.decode(*steady) is not told


def test_messages_of_other_types_with_the_same_bytes_are_told_apart() -> None:
    payload = NewscastExchange(True, [Profile(topics=1 << 99, peer=n) for n in range(20)]).encode()
    decoder = Decoder(100)
    for _ in range(3):
        assert isinstance(decoder.decode("NewscastExchange", payload), NewscastExchange)
        assert isinstance(decoder.decode("TManExchange", payload), TManExchange)


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(1, 4))
def test_messages_are_those_that_were_sent(peers: list[int], generation: int) -> None:
    decoder = Decoder(generation)
    for peer in peers:
        assert decoder.decode(*heartbeat(peer)) == decode(*heartbeat(peer))


@pytest.mark.parametrize("times", [1, 3])
def test_what_cannot_be_decoded_is_refused_each_time(times: int) -> None:
    decoder = Decoder(100)
    for _ in range(times):
        with pytest.raises(MalformedMessage):
            decoder.decode("ProfileExchange", b"\xff" * 100)
        with pytest.raises(KeyError):
            decoder.decode("Nonsense", b"x" * 100)
