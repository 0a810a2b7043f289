"""Messages that a fault damaged on their way."""

from __future__ import annotations

from emulator.messages.message import Message
from emulator.runtime.peer_channels import Life


def refuse(life: Life, channel: str, kind: type[Message]) -> None:
    """Have a peer drop a damaged message of this class, as a check of its bytes would; the peer's protocol
    hears nothing of it."""
    found = life.channels.get(channel)
    (life.root if found is None else found).drop(kind, "it was damaged on its way")
