"""The faults of the network while a trial runs: what becomes of a message that is sent now."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random
from typing import Final

from emulator.faults.spec import OF_MESSAGES, FaultSpec

SILENCE: Final = -1.0
"""Stands for the delay of a message that vanishes."""
TOLD: Final = -2.0
"""Stands for the delay of a message that vanishes, and whose sender learns that nobody was reached."""
FAULT: Final = "fault"
"""The first word of the observations that tell of stopped messages; the second is the fault's name."""


class _Fault:
    """One fault and the peers that it hits."""

    def __init__(self, spec: FaultSpec, hit: Collection[int], region: Sequence[str]) -> None:
        self.name = spec.name
        self.begins = spec.begins
        self.ends = spec.ends
        self._partition = spec.partition
        self._links = spec.links
        self._hit = bytearray(len(region))
        """For each peer 1 if it is hit, or 2 if it is in the second of two regions between which it holds."""
        self._between = between = None if spec.links is None else spec.links.between
        for peer in hit:
            self._hit[peer] = 2 if between is not None and region[peer] == between[1] else 1

    def becomes(self, sender: int, receiver: int, random: Random) -> float:
        """Return the seconds that the message takes in addition, or `SILENCE` or `TOLD`."""
        out, into = self._hit[sender], self._hit[receiver]
        partition, links = self._partition, self._links
        if partition is not None and out != into:
            if partition.way == "both" or (partition.way == "out") == bool(out):
                return TOLD if partition.senders == "told" else SILENCE
        elif links is not None and (out or into):
            if self._between is not None and (out == into or not out or not into):
                return 0.0
            if links.loss and random.random() < links.loss:
                return SILENCE
            return links.delay
        return 0.0


class NetworkFaults:
    """All faults of a trial that concern messages. A message is judged when it is sent."""

    def __init__(
        self, specs: Sequence[FaultSpec], hit: Sequence[Collection[int]], region: Sequence[str]
    ) -> None:
        """`hit` has the peers that each fault hits, `region` that of each peer, "" where there are none."""
        self._faults = [_Fault(spec, some, region) for spec, some in zip(specs, hit, strict=True)]
        self._first = min((fault.begins for fault in self._faults), default=0.0)
        self._last = max((fault.ends for fault in self._faults), default=0.0)

    def becomes(self, sender: int, receiver: int, at: float, random: Random) -> tuple[float, str]:
        """Return what becomes of a message that is sent at trial time `at` (s), and the fault that stops it.

        That is the seconds that it takes in addition, or `SILENCE` or `TOLD`.
        """
        later = 0.0
        if self._first <= at < self._last:
            for fault in self._faults:
                if fault.begins <= at < fault.ends:
                    more = fault.becomes(sender, receiver, random)
                    if more < 0.0:
                        return more, fault.name
                    later += more
        return later, ""


def faults_of(
    specs: Sequence[FaultSpec],
    hit: Sequence[Collection[int]],
    locations: Sequence[int],
    regions: Sequence[str],
) -> NetworkFaults | None:
    """Return the faults of a trial's network that hit these of its peers, None if it has none.

    `locations` has each peer's row of the latency matrix, `regions` the name of each row if they are regions.
    """
    both = [(spec, some) for spec, some in zip(specs, hit, strict=True) if spec.kind in OF_MESSAGES]
    if not both:
        return None
    region = [regions[place] if regions else "" for place in locations]
    return NetworkFaults([spec for spec, _ in both], [some for _, some in both], region)
