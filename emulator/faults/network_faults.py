"""The faults of the network while a trial runs: what becomes of a message that is sent now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from random import Random
from typing import Final

from emulator.faults.crossings import Crossings
from emulator.faults.spec import OF_MESSAGES, FaultSpec

FAULT: Final = "fault"
"""The first word of the observations that tell of messages which faults hit; the second is the fault's
name."""
_COUNTED: Final = {"stopped": "", "delayed": " delays", "doubled": " duplicates", "damaged": " corrupts"}
"""The ends of the observations' names, by the word for what a fault did to the messages."""
_STOPPING: Final = ("stopped", "damaged")


def stopping_observations(fault: str) -> list[str]:
    """Return the names of the observations of messages that a fault kept from being received."""
    return [f"{FAULT} {fault}{_COUNTED[what]}" for what in _STOPPING]


def is_stopping(observation: str) -> bool:
    """Return whether an observation tells that a fault kept a message from being received."""
    others = tuple(end for what, end in _COUNTED.items() if what not in _STOPPING)
    return observation.startswith(f"{FAULT} ") and not observation.endswith(others)


AT_ITS_RATE: Final = "at_its_rate"
"""The word for messages that took links whose rate a fault changes."""


class Fate:
    """The fate of a message that is sent while faults hold."""

    __slots__ = ("damaged_by", "later", "marks", "stopped_by", "told", "twice_by")

    def __init__(self) -> None:
        self.later = 0.0
        """The seconds that it takes in addition."""
        self.stopped_by = ""
        """The fault that makes it vanish; empty for none, as in the following."""
        self.told = False
        """This is true if the sender of a message that vanishes learns that nobody was reached."""
        self.twice_by = ""
        """The last fault by which it arrives twice."""
        self.damaged_by = ""
        """The last fault by which it arrives damaged, so that its receiver refuses it."""
        self.marks: tuple[str, ...] = ()
        """The names of the sender's observations of each fault that delays, doubles or damages it."""

    def observed(self) -> list[str]:
        """Return the names of the sender's observations about it."""
        return [f"{FAULT} {self.stopped_by}"] if self.stopped_by else [*self.marks]


UNHARMED: Final = Fate()
"""The fate of a message that no fault hits."""


class _Fault:
    """One fault and the peers that it hits."""

    def __init__(self, spec: FaultSpec, hit: Collection[int], second: Collection[int], peers: int) -> None:
        self.name = spec.name
        self.begins = spec.begins
        self.ends = spec.ends
        self._partition = spec.partition
        self._links = spec.links
        self._between = spec.links is not None and spec.links.between is not None
        rates = None if spec.links is None else spec.links.bandwidth
        self._changes_up = rates is not None and rates.up is not None
        """This is true if the up links of the peers that are hit have another rate; so is `_changes_down` of
        their down links."""
        self._changes_down = rates is not None and rates.down is not None
        self.at_its_rate = None if rates is None else 0
        """The number of messages that were sent over links whose rate it changes, None if it changes none."""
        self._hit = bytearray(peers)
        """For each peer 1 if it is hit, or 2 if it is in the second of two groups between which it holds."""
        for side, some in ((1, hit), (2, second)):
            for peer in some:
                self._hit[peer] = side

    def count(self, sender: int, receiver: int) -> None:
        """Count a message if it takes a link whose rate the fault changes."""
        if self.at_its_rate is not None:
            up, down = self._changes_up and self._hit[sender], self._changes_down and self._hit[receiver]
            self.at_its_rate += 1 if up or down else 0

    def bear_on(self, fate: Fate, sender: int, receiver: int, random: Random) -> bool:
        """Have the fault change what becomes of a message. Returns whether it hits the message."""
        out, into = self._hit[sender], self._hit[receiver]
        partition, links = self._partition, self._links
        if partition is not None:
            if out == into or not (partition.way == "both" or (partition.way == "out") == bool(out)):
                return False
            fate.stopped_by, fate.told = self.name, partition.senders == "told"
            return True
        if links is None:
            return False
        if self._between:
            sends, gets = out == 1 and into == 2, out == 2 and into == 1
        else:
            sends, gets = out > 0, into > 0
        if not (sends and links.way != "in") and not (gets and links.way != "out"):
            return False
        if links.loss and random.random() < links.loss:
            fate.stopped_by = self.name
        if links.delay:
            fate.later += links.delay
            fate.marks += (f"{FAULT} {self.name} delays",)
        if links.duplicate and random.random() < links.duplicate:
            fate.twice_by = self.name
            fate.marks += (f"{FAULT} {self.name} duplicates",)
        if links.corrupt and random.random() < links.corrupt:
            fate.damaged_by = self.name
            fate.marks += (f"{FAULT} {self.name} corrupts",)
        return True


class NetworkFaults:
    """All faults of a trial that concern messages. A message is judged when it is sent."""

    def __init__(
        self,
        specs: Sequence[FaultSpec],
        hit: Sequence[Collection[int]],
        second: Sequence[Collection[int]],
        peers: int,
    ) -> None:
        """`hit` has those of so many peers that each fault hits, `second` those of them that are in the
        second of two groups between which it holds."""
        self._faults = [
            _Fault(spec, some, of_second, peers)
            for spec, some, of_second in zip(specs, hit, second, strict=True)
            if spec.kind in OF_MESSAGES
        ]
        self._first = min((fault.begins for fault in self._faults), default=0.0)
        self._last = max((fault.ends for fault in self._faults), default=0.0)
        self._counts: Counter[str] = Counter()
        """The number of the senders' observations, by name."""
        partitions = any(spec.partition is not None for spec in specs)
        self.crossings = Crossings(specs, hit) if partitions else None
        """The judge of what arrives, None if there is no partition."""

    def becomes(self, sender: int, receiver: int, at: float, random: Random) -> Fate:
        """Return what becomes of a message that is sent at trial time `at` (s)."""
        fate = UNHARMED
        if self._first <= at < self._last:
            for fault in self._faults:
                if fault.begins <= at < fault.ends:
                    fault.count(sender, receiver)
                    if fate.stopped_by:
                        continue
                    mine = Fate() if fate is UNHARMED else fate
                    if fault.bear_on(mine, sender, receiver, random):
                        fate = mine
        if fate is not UNHARMED:
            self._counts.update(fate.observed())
        return fate

    def counts(self, fault: str) -> dict[str, int]:
        """Return how many messages a fault stopped, delayed, doubled and damaged so far, and of one that
        changes rates how many were sent over these links."""
        found = {what: self._counts[f"{FAULT} {fault}{end}"] for what, end in _COUNTED.items()}
        rated = next(each.at_its_rate for each in self._faults if each.name == fault)
        return found if rated is None else found | {AT_ITS_RATE: rated}


def faults_of(
    specs: Sequence[FaultSpec],
    hit: Sequence[Collection[int]],
    second: Sequence[Collection[int]],
    peers: int,
) -> NetworkFaults | None:
    """Return the faults of a trial's network that hit these of its peers, None if it has none.

    `second` has those of the peers that are in the second of two groups between which a fault holds.
    """
    if not any(spec.kind in OF_MESSAGES for spec in specs):
        return None
    return NetworkFaults(specs, hit, second, peers)
