"""The signature of a message, by which a changed one is told (libp2p's pubsub, "Message Signing").

A checksum stands for the signature of libp2p: nobody forges it here, and garbage does not fit it.
"""

from __future__ import annotations

from zlib import crc32


def sign(event: int, topic: int, publisher: int, payload: bytes) -> int:
    """Return the signature of 32 bits over a message's fields."""
    return crc32(payload, crc32(b"%d/%d/%d" % (event, topic, publisher)))
