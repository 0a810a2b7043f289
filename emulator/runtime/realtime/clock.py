"""The clocks of a host: a monotonic clock for its own work, unix time for what it tells others."""

from __future__ import annotations

import time

_UNIX_LESS_MONOTONIC_NS = time.time_ns() - time.monotonic_ns()


def unix_ns() -> int:
    """Return the unix time on this host in ns.

    It runs evenly from the start of the process, even if the date is set.
    """
    return _UNIX_LESS_MONOTONIC_NS + time.monotonic_ns()


class TrialClock:
    """Trial time on this host. One trial second takes `scale` wall seconds."""

    __slots__ = ("scale", "start")

    def __init__(self, start_unix_ns: int, scale: float) -> None:
        """`start_unix_ns` is trial time 0 on this host's clock (`unix_ns`)."""
        self.start = (start_unix_ns - _UNIX_LESS_MONOTONIC_NS) * 1e-9
        """The monotonic time of trial time 0, in seconds."""
        self.scale = scale

    def now(self) -> float:
        """Return the trial time in seconds, negative before the start."""
        return (time.monotonic() - self.start) / self.scale

    def now_ns(self) -> int:
        """Return the trial time in ns, 0 before the start."""
        return max(int((time.monotonic() - self.start) / self.scale * 1e9), 0)

    def wall(self, trial_time: float) -> float:
        """Return the monotonic time in seconds at which it is `trial_time`."""
        return self.start + trial_time * self.scale
