"""What the coordinator asks of those that call it, and what it gives them to show to others."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from emulator.fleet.coordinator.host_tokens import Speakers
from emulator.trust.credentials import OPEN, Credentials
from emulator.trust.interceptor import Door

_OF_CHURN = ("AwaitChurn", "ReportKilled")


@dataclass(frozen=True, slots=True)
class Trust:
    """The secrets of a release that its coordinator knows."""

    credentials: Credentials = OPEN
    """Those of hosts."""
    churn_token: str = field(default="", repr=False)
    """What the churn controller shows; without one there is no controller."""
    ticket_key: str = field(default="", repr=False)
    """Writes tickets to the Collector; without one they are empty."""
    speakers: Path | None = None
    """The file in which the coordinator keeps who speaks for which host."""

    def interceptors(self) -> list[Door | Speakers]:
        """Those of the coordinator's server. Raises OSError if the file cannot be read."""
        if not self.credentials.token:
            return []
        churn = [self.churn_token] if self.churn_token else []
        tokens = dict.fromkeys(_OF_CHURN, churn)
        tokens |= {"": [self.credentials.token], "MeasureClock": [self.credentials.token, *churn]}
        return [Door(tokens), Speakers(self.credentials, self.speakers)]


UNGUARDED = Trust()
"""Anybody may call, as in tests of a part."""
