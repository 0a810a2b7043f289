"""The description that a component gives of a gauge, beyond the number that `Component.gauges` returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gauge:
    """A gauge as summary and report show it."""

    text: str = ""
    """The meaning of the gauge, in a sentence."""
    unit: str = ""
    """The unit, such as "ms", "bytes" or "peers"; "share" is 0 to 1."""
    better: str | None = None
    """The direction that is better, "higher" or "lower"; None if neither is."""
    sampled: bool = False
    """This is true if the gauge is also recorded over time, each `telemetry.metrics_interval`."""

    def problem(self) -> str:
        """Return what is wrong with the description, or an empty text."""
        if self.better not in (None, "higher", "lower"):
            return f'its `better` is {self.better!r}: write "higher", "lower" or None'
        if not isinstance(self.text, str) or not isinstance(self.unit, str):
            return "its text and its unit are texts"
        return ""
