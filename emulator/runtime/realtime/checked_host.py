"""A real-time host that checks whether protocols keep their contract, as far as one host can see."""

from __future__ import annotations

from emulator.messages.fingerprint import fingerprint
from emulator.messages.message import Message
from emulator.runtime.peer_channels import Channel
from emulator.runtime.realtime.host import Host
from emulator.runtime.realtime.sent_message import Passage


class CheckedHost(Host):
    """A host that checks each message when it is sent and when it is handled or encoded.

    The host does not know which events were published elsewhere; the analysis looks at deliveries.
    """

    def watch(self, system: str) -> None:
        super().watch(system)
        self._sent: dict[int, tuple[Passage, int]] = {}
        """The fingerprint of each message on its way, by the identity of its passage."""

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        channel.check_sent(peer, message)
        super().transmit(channel, peer, message, request)

    def _take(self, passage: Passage, due: float) -> None:
        if passage.parcel is not None:
            self._sent[id(passage)] = passage, fingerprint(passage.parcel.message)
        super()._take(passage, due)

    def _depart(self, passage: Passage) -> None:
        self._compare(passage)
        super()._depart(passage)

    def _arrive(self, passage: Passage) -> None:
        self._compare(passage)
        super()._arrive(passage)

    def _compare(self, passage: Passage) -> None:
        sent = self._sent.pop(id(passage), None)
        if sent is None or passage.parcel is None or sent[1] == fingerprint(passage.parcel.message):
            return
        on = f" on channel {passage.channel!r}" if passage.channel else ""
        self.breaches.note(
            f"changed a message {passage.parcel.message.NAME}{on} after it was sent",
            f"from peer {passage.sender}, sent at {passage.sent_ns / 1e9:.3f} s, to peer {passage.receiver}",
        )
