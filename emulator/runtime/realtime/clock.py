"""The clocks of a host: monotonic for what it does, unix for what it tells others."""

from __future__ import annotations

import time

_UNIX_LESS_MONOTONIC_NS = time.time_ns() - time.monotonic_ns()


def unix_ns() -> int:
    """Unix time on this host in ns; runs evenly from the start of the process, whatever sets the date."""
    return _UNIX_LESS_MONOTONIC_NS + time.monotonic_ns()


class TrialClock:
    """Trial time on this host, `scale` wall seconds to a second."""

    __slots__ = ("scale", "start")

    def __init__(self, start_unix_ns: int, scale: float) -> None:
        """`start_unix_ns` is trial time 0 on this host's clock (`unix_ns`)."""
        self.start = (start_unix_ns - _UNIX_LESS_MONOTONIC_NS) * 1e-9
        """Trial time 0 on the monotonic clock, seconds."""
        self.scale = scale

    def now(self) -> float:
        """Seconds of trial time; negative before the start."""
        return (time.monotonic() - self.start) / self.scale

    def now_ns(self) -> int:
        """The same in ns, not below 0."""
        return max(int((time.monotonic() - self.start) / self.scale * 1e9), 0)

    def wall(self, trial_time: float) -> float:
        """The monotonic time at which it is `trial_time`."""
        return self.start + trial_time * self.scale
