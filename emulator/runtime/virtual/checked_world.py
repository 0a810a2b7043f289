"""A world on a virtual clock that checks whether protocols keep their contract.

It does what `VirtualWorld` does, byte for byte, and counts what breaks the contract. Trials that are not
checked do not use it, so checking costs them nothing.
"""

from __future__ import annotations

from mypy_extensions import i64

from emulator.contract.message_pool import MessagePool
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.messages.fingerprint import fingerprint
from emulator.messages.message import Message
from emulator.network.peer_network import Network
from emulator.runtime.breaches import checks_asked_for
from emulator.runtime.peer_channels import Channel
from emulator.runtime.virtual.event_loop import VirtualWorld
from emulator.runtime.virtual.events import Arrival
from emulator.runtime.virtual.life import VirtualTimer
from emulator.telemetry.recorder import Recorder


class CheckedWorld(VirtualWorld):
    """A world that looks at each message when it is sent and when it is handled."""

    def __init__(self, spec: TrialSpec, plan: Plan, network: Network, recorder: Recorder) -> None:
        super().__init__(spec, plan, network, recorder)
        self.checked = spec.runtime.check or checks_asked_for()
        self._sent: dict[int, int] = {}
        """The fingerprint of each message on its way, by the number of its arrival."""

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        channel.check_sent(peer, message)
        before = self._order
        super().transmit(channel, peer, message, request)
        if self._order != before:  # the network has not lost it
            self._sent[self._order] = fingerprint(message)

    def transmit_row(self, channel: Channel, peer: int, pool: MessagePool, row: i64) -> None:
        self.transmit(channel, peer, pool.view(row), 0)

    def schedule(self, delay: float, timer: VirtualTimer) -> None:
        if not callable(timer.callback):
            who = "the system" if timer.life is None else f"peer {timer.life.peer}"
            text = "Give it a function, not what a call of one returned"
            raise TypeError(f"{who} set a timer for {timer.callback!r:.80}, which is no function. {text}")
        super().schedule(delay, timer)

    def _arrive(self, arrival: Arrival) -> None:
        message, channel = arrival.message, arrival.channel
        if self._sent.pop(arrival.order) != fingerprint(message):
            on = f" on channel {channel.name!r}" if channel.name else ""
            self.breaches.note(
                f"changed a message {message.NAME}{on} after it was sent",
                f"from peer {channel.peer}, sent at {arrival.sent:.3f} s, to peer {arrival.receiver}",
            )
        super()._arrive(arrival)
