"""The hosts of a trial, as their coordinator knows them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from trellis.v1 import control_pb2

COUNTS = ("joined", "asked", "delivered", "sent", "dropped", "lost_spans")
"""The counts in a host's progress, which begin at 0 with each start of the host."""


@dataclass
class Member:
    """One host, as the coordinator knows it."""

    name: str
    index: int
    peers: int
    address: str = ""
    echo_address: str = ""
    process_id: int = 0
    program: str = ""
    """The token of this start of the host's program."""
    versions: dict[str, str] = field(default_factory=dict)
    ready: bool = False
    incarnation: int = 0
    """The number of this start of the host within the trial, 0 for the first."""
    returns: list[float] = field(default_factory=list)
    """The trial times at which the host came back, in seconds."""
    clock_offset_start_ns: int = 0
    progress: control_pb2.HostProgress = field(default_factory=control_pb2.HostProgress)
    before: Counter[str] = field(default_factory=Counter)
    """The `COUNTS` of the host's earlier starts, as far as they told."""
    heard_ns: int = 0
    """The unix time at which the coordinator last heard from the host."""
    result: control_pb2.HostFidelity | None = None
    lost: str = ""
    """The reason for which the host was lost before it finished, or ""."""
    ending: str = ""
    """The last ending of the host's program, as the cluster tells it, or ""."""
    errors: list[tuple[str, float]] = field(default_factory=list)
    """The errors that ended the host's programs, each with its trial time in seconds."""

    def count(self, name: str) -> int:
        """Return one of `COUNTS` over all starts of the host, which never falls."""
        now: int = getattr(self.progress, name)
        return self.before[name] + now

    @property
    def starts(self) -> range:
        """The numbers of the host's starts within the trial; starts before it wrote no telemetry."""
        return range(self.incarnation - len(self.returns), self.incarnation + 1)
