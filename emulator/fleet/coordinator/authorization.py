"""The secrets that the coordinator asks of its callers, and those that it gives them to show to others."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from emulator.fleet.coordinator.host_tokens import Speakers
from emulator.trust.credentials import OPEN, Credentials
from emulator.trust.interceptor import Door
from emulator.trust.strangers import Strangers

_OF_CHURN = ("AwaitChurn", "ReportKilled")


@dataclass(frozen=True, slots=True)
class Trust:
    """The secrets of a release that its coordinator knows."""

    credentials: Credentials = OPEN
    """The secrets that hosts show to the coordinator and to each other."""
    churn_token: str = field(default="", repr=False)
    """The secret that the churn controller shows; it is empty if there is no controller."""
    ticket_key: str = field(default="", repr=False)
    """The key by which the coordinator signs tickets for the Collector; without a key tickets are empty."""
    speakers: Path | None = None
    """The file in which the coordinator keeps which start of a program speaks for which host."""

    def interceptors(self, strangers: Strangers) -> list[Door | Speakers]:
        """Return the interceptors of the coordinator's server, which tell `strangers` whom they let in.

        Raises OSError if the file cannot be read.
        """
        if not self.credentials.token:
            return []
        churn = [self.churn_token] if self.churn_token else []
        tokens = dict.fromkeys(_OF_CHURN, churn)
        tokens |= {"": [self.credentials.token], "MeasureClock": [self.credentials.token, *churn]}
        return [Door(tokens, strangers), Speakers(self.credentials, self.speakers)]


UNGUARDED = Trust()
"""No secrets: anybody may call, as in tests of a part."""
