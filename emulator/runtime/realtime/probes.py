"""The probes of the network's delays that reach a host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.compact.durations import Distribution
from emulator.runtime.realtime.clock import TrialClock
from trellis.v1 import control_pb2

_LIMIT: Final = 100_000
"""The most probes that a host keeps."""


class Probes:
    """Keeps what a host has measured, up to a limit."""

    def __init__(self, host_of: Sequence[int], clock: TrialClock) -> None:
        """`host_of` gives the index of each peer's host."""
        self._host_of = host_of
        self._clock = clock
        self.kept: list[control_pb2.Probe] = []
        self.errors = Distribution()
        """The differences of achieved and requested delay in wall seconds, by the clocks as they were at
        registration."""

    def keep(self, sender: int, sent_ns: int, due_ns: int) -> None:
        """Keep a probe that arrives now. Times are those of the trial."""
        received_ns = self._clock.now_ns()
        self.errors.add(abs(received_ns - due_ns) * 1e-9 * self._clock.scale)
        if len(self.kept) < _LIMIT:
            self.kept.append(
                control_pb2.Probe(
                    sending_host=self._host_of[sender],
                    sent_ns=sent_ns,
                    due_ns=due_ns,
                    received_ns=received_ns,
                )
            )
