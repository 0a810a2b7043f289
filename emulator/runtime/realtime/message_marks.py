"""The marks of messages that ended on their way, in the traces of their operations."""

from __future__ import annotations

from emulator.messages.message import Message
from emulator.network.peer_network import PEER_DOWN
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.realtime.sent_message import Passage
from emulator.runtime.realtime.session import Session
from emulator.telemetry.observation import Observation
from emulator.telemetry.recorder import Recorder


class MessageMarks:
    """Records what became of messages, as observations of the peers of one host."""

    def __init__(self, clock: TrialClock, recorder: Recorder) -> None:
        self._clock = clock
        self._recorder = recorder

    def dropped(self, name: str, receiver: Session, message: Message, passage: Passage) -> None:
        """Record, by the name of the observation, that a message was dropped where it arrived."""
        self._record(receiver, passage, Observation(name, message.byte_size(), passage.sender, "bytes"))

    def came_back(self, sender: Session, passage: Passage) -> None:
        """Record that a message came to a peer that is down, or to a host that is not reached.

        Messages outside of operations have no spans, and so no mark. One that a fault has damaged was marked
        before.
        """
        size = passage.bytes_back
        if size >= 0 and passage.context is not None and not passage.damaged:
            self._record(sender, passage, Observation(PEER_DOWN, size, passage.receiver, "bytes"))

    def _record(self, session: Session, passage: Passage, observed: Observation) -> None:
        self._recorder.observation(
            passage.context, session.peer, session.planned, passage.channel, self._clock.now_ns(), observed
        )
