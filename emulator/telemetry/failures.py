"""The status of spans that tell of a message which did not reach its receiver."""

from __future__ import annotations

from emulator.faults.network_faults import is_stopping
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP
from emulator.network.busy_peers import PROCESSING_DROP
from emulator.network.peer_network import LOSS, PEER_DOWN
from emulator.telemetry.span_encoding import error_status

_REASONS = {
    LOSS: "the network lost the message",
    UP_LINK_DROP: "the message did not fit into its sender's up link",
    DOWN_LINK_DROP: "the message did not fit into its receiver's down link",
    PEER_DOWN: "the receiver was down",
    PROCESSING_DROP: "the receiver had too many messages to handle",
}


class FailureStatus(dict[str, bytes]):
    """The encoded status by the name of an observation; it is empty where no message failed."""

    def __missing__(self, name: str) -> bytes:
        reason = _REASONS.get(name, "")
        if not reason and is_stopping(name):
            reason = f"the message was not received: {name}"
        if not reason:
            return b""  # names of components are not kept, as there may be many
        encoded = self[name] = error_status(reason)
        return encoded
