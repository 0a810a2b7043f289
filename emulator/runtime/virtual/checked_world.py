"""A world on a virtual clock that checks whether protocols keep their contract.

It does what `VirtualWorld` does, byte for byte, and counts what breaks the contract. Trials that are not
checked do not use it, so checking costs them nothing.
"""

from __future__ import annotations

from mypy_extensions import i64

from emulator.contract.message_pool import MessagePool
from emulator.contract.outcomes import Completion, Event, Lookup, Outcome
from emulator.contract.workload import Operation
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.messages.fingerprint import fingerprint
from emulator.messages.message import Message
from emulator.network.peer_network import Network
from emulator.runtime.breaches import checks_asked_for
from emulator.runtime.peer_channels import Channel
from emulator.runtime.script import Step
from emulator.runtime.script_actor import PlannedLife
from emulator.runtime.virtual.event_loop import VirtualWorld
from emulator.runtime.virtual.events import Arrival
from emulator.runtime.virtual.life import VirtualLife, VirtualTimer
from emulator.telemetry.recorder import Recorder

_LOOKED_AT = 100
_FOLLOWED = 10_000
"""The first operations of a trial that are followed from message to message."""


class CheckedWorld(VirtualWorld):
    """A world that looks at each message when it is sent and when it is handled.

    It follows what peers may know: a peer that delivers an event has got a message from one that may have
    known of it, and so on back to the publisher.
    """

    def __init__(self, spec: TrialSpec, plan: Plan, network: Network, recorder: Recorder) -> None:
        super().__init__(spec, plan, network, recorder)
        self.checked = spec.runtime.check or checks_asked_for()
        self._sent: dict[int, tuple[int, int]] = {}
        """The fingerprint of each message on its way and what its sender knew, by the number of its
        arrival."""
        self._sent_of: dict[type[Message], int] = {}
        """The number of messages of each class that were sent."""
        self._numbers: dict[tuple[str, int], int] = {}
        """The number of each operation that was begun, by its name and its own number; events are
        "event"."""
        self._known = [0] * spec.peers
        """The operations of which messages may have told each peer in this life: a bit for each number."""

    def begin(self, life: PlannedLife) -> None:
        self._known[life.peer] = 0
        super().begin(life)

    def _act(self, step: Step) -> None:
        action = step.action
        if isinstance(action, Operation) and len(self._numbers) < _FOLLOWED:
            event = action.about()[1]
            what = ("event", event) if event >= 0 else (action.NAME, action.number)
            self._known[step.peer] |= 1 << self._numbers.setdefault(what, len(self._numbers))
        super()._act(step)

    def may_know(self, life: VirtualLife, outcome: Outcome) -> bool:
        number = self._numbers.get(_about(outcome), -1)
        return number < 0 or bool(self._known[life.peer] >> number & 1)

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        channel.check_sent(peer, message)
        before = self._order
        self._look_at_size(message, channel)
        super().transmit(channel, peer, message, request)
        for order in range(
            before + 1, self._order + 1
        ):  # none if the network has lost it, two of a doubled one
            self._sent[order] = fingerprint(message), self._known[channel.peer]

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
        before, known = self._sent.pop(arrival.order)
        self._known[arrival.receiver] |= known
        if before != fingerprint(message):
            on = f" on channel {channel.name!r}" if channel.name else ""
            self.breaches.note(
                f"changed a message {message.NAME}{on} after it was sent",
                f"from peer {channel.peer}, sent at {arrival.sent:.3f} s, to peer {arrival.receiver}",
            )
        super()._arrive(arrival)

    def _refuse(self, arrival: Arrival) -> None:
        del self._sent[arrival.order]
        super()._refuse(arrival)

    def _look_at_size(self, message: Message, channel: Channel) -> None:
        """Compare what a message says of its size with what it has: the first hundred of a class, and one of
        a hundred after that, because encoding takes long. A class that was not generated has no encoding."""
        kind = type(message)
        sent = self._sent_of[kind] = self._sent_of.get(kind, 0) + 1
        if (sent > _LOOKED_AT and sent % _LOOKED_AT) or kind.write_to is Message.write_to:
            return
        if (said := message.byte_size()) != (size := len(message.encode())):
            self.breaches.note(
                f"sent a message {message.NAME} of {size} bytes that says that it has {said}",
                f"from peer {channel.peer} at {self.time:.3f} s",
            )


def _about(outcome: Outcome) -> tuple[str, int]:
    """Return the operation that an outcome belongs to, as `CheckedWorld` names it."""
    if isinstance(outcome, Event):
        return "event", outcome.number
    if isinstance(outcome, Lookup):
        return "lookup", outcome.number
    return (outcome.operation, outcome.number) if isinstance(outcome, Completion) else ("", -1)
