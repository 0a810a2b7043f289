"""The faults of the network at a host: what they do to what is sent, and whether what arrives crossed one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from emulator.faults.network_faults import UNHARMED, Fate, NetworkFaults
from emulator.messages.message import Message
from emulator.network.peer_network import Network
from emulator.runtime.peer_channels import Channel
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.realtime.link_line import Going
from emulator.runtime.realtime.sent_message import Passage
from emulator.telemetry.context import TraceContext
from emulator.telemetry.recorder import Recorder

Go = Callable[[Passage, float, float], None]
"""A function that sends a message which has left its up link on its way: the message, the seconds of the way,
and the trial time at which it left."""


class FaultLine:
    """The faults of the network, if a trial has any."""

    def __init__(
        self,
        faults: NetworkFaults | None,
        network: Network,
        clock: TrialClock,
        random: Random,
        recorder: Recorder,
        go: Go,
    ) -> None:
        self._faults = faults
        self._clock = clock
        self._network = network
        self._random = random
        self._recorder = recorder
        self._go = go

    def meet(
        self, channel: Channel, peer: int, message: Message, at: float, context: TraceContext | None
    ) -> Fate:
        """Return what becomes of a message to `peer`, which was sent at `at`, and record it in the operation
        of `context`, or in none."""
        if self._faults is None:
            return UNHARMED
        fate = self._faults.becomes(channel.peer, peer, at, self._random)
        for observation in fate.observed():
            channel.mark(observation, peer, message, context)
        return fate

    def arrive(self, passage: Passage) -> None:
        """Judge whether a message that arrives has crossed a partition, if there is any."""
        if self._faults is not None and self._faults.crossings is not None:
            sent, now = passage.sent_ns * 1e-9, self._clock.now()
            self._faults.crossings.judge(passage.sender, passage.receiver, sent, now)

    def going(self, channel: Channel, passage: Passage, fate: Fate, delay: float) -> Going:
        """Return the function that sends the message, and its second copy if there is one, on their ways.

        A second copy that the network loses is counted as lost.
        """
        going = partial(self._go, passage, delay + fate.later)
        if fate is UNHARMED:
            return going
        passage.damaged = bool(fate.damaged_by)
        if not fate.twice_by:
            return going
        again = self._network.delay(passage.sender, passage.receiver, self._random)
        if again is None:
            parcel = passage.parcel
            assert parcel is not None
            channel.count_lost(passage.receiver, parcel.message, passage.context, self._recorder)
            return going
        return partial(_go_both, going, partial(self._go, passage.again(), again + fate.later))


def _go_both(one: Going, other: Going, leaves: float) -> None:
    one(leaves)
    other(leaves)
