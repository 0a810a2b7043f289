"""The message pools of which a world has sent rows."""

from __future__ import annotations

from mypy_extensions import i64

from emulator.contract.message_pool import MessagePool
from emulator.runtime.peer_channels import Channel
from emulator.telemetry.message_counts import Tally
from emulator.telemetry.recorder import Recorder


class SentPools:
    """The pools by their numbers, with what the world has to know of each."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.pools: list[MessagePool] = []
        self.channels: list[str] = []
        """The name of each pool's channel."""
        self.tallies: list[Tally] = []
        """The tally of each pool's rows that are sent in no operation."""

    def number(self, pool: MessagePool, channel: Channel, row: i64) -> i64:
        """Return the number of a pool, which gets one when its first row is sent on its channel."""
        if pool.number < 0:
            pool.number = len(self.pools)
            self.pools.append(pool)
            self.channels.append(channel.name)
            self.tallies.append(self._recorder.tallies.on(channel.name).tally(pool.view(row), False))
        return pool.number
