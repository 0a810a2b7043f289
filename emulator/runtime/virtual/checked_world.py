"""A world on a virtual clock that checks whether protocols keep their contract.

It does what `VirtualWorld` does, byte for byte, and counts what breaks the contract. Trials that are not
checked do not use it, so checking costs them nothing.
"""

from __future__ import annotations

from emulator.contract.protocol import Event, Lookup, Outcome
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.messages.fingerprint import fingerprint
from emulator.messages.message import Message
from emulator.network.links import Network
from emulator.runtime.breaches import Breaches
from emulator.runtime.peer_channels import Channel
from emulator.runtime.virtual.event_loop import Arrival, VirtualWorld
from emulator.runtime.virtual.life import VirtualLife
from emulator.telemetry.recorder import Recorder


class CheckedWorld(VirtualWorld):
    """A world that looks at each message when it is sent and when it is handled, and at each delivery."""

    def __init__(self, spec: TrialSpec, plan: Plan, network: Network, recorder: Recorder) -> None:
        super().__init__(spec, plan, network, recorder)
        self.checked = True
        self.breaches = Breaches()
        self._name = spec.system.name
        self._sent: dict[int, int] = {}
        """The fingerprint of each message on its way, by the number of its arrival."""
        columns = plan.publications.select(["event", "at_s", "publisher", "topic"]).to_pylist()
        self._publications = {row["event"]: row for row in columns}
        self._lookups = {row["lookup"]: row for row in plan.lookups.select(["lookup", "at_s"]).to_pylist()}

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        before = self._order
        super().transmit(channel, peer, message, request)
        if self._order != before:  # the network has not lost it
            self._sent[self._order] = fingerprint(message)

    def hand_over(self, life: VirtualLife, outcome: Outcome) -> None:
        where = f"at peer {life.peer} at {self.time:.3f} s"
        if isinstance(outcome, Event):
            planned = self._publications.get(outcome.number)
            if planned is None or planned["at_s"] > self.time:
                self._note("delivered an event that nobody has published", f"event {outcome.number} {where}")
            elif (planned["publisher"], planned["topic"]) != (outcome.publisher, outcome.topic):
                told = f"publisher {outcome.publisher} and topic {outcome.topic}, not " + (
                    f"publisher {planned['publisher']} and topic {planned['topic']}"
                )
                self._note(
                    "delivered an event as another one than was published",
                    f"event {outcome.number} as of {told} {where}",
                )
        elif isinstance(outcome, Lookup):
            asked = self._lookups.get(outcome.number)
            if asked is None or asked["at_s"] > self.time:
                self._note("delivered a lookup that nobody has begun", f"lookup {outcome.number} {where}")
        super().hand_over(life, outcome)

    def _arrive(self, arrival: Arrival) -> None:
        message, channel = arrival.message, arrival.channel
        if self._sent.pop(arrival.order) != fingerprint(message):
            on = f" on channel {channel.name!r}" if channel.name else ""
            self._note(
                f"changed a message {message.NAME}{on} after it was sent",
                f"from peer {channel.peer}, sent at {arrival.sent:.3f} s, to peer {arrival.receiver}",
            )
        super()._arrive(arrival)

    def _note(self, what: str, where: str) -> None:
        self.breaches.note(f"{self._name} {what}", where)
