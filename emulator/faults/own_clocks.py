"""The clocks of peers that have clock faults: what they show, and when what they measure has passed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from emulator.faults.spec import FaultSpec


class OwnClock:
    """The clock of one peer by trial time, with its steps and drifts; no two of its faults are at a time.

    What the clock shows is right again after a fault. Timers run by what passes on it, so a step moves none.
    """

    def __init__(self, faults: Sequence[FaultSpec]) -> None:
        self._faults = [
            (fault.begins, fault.ends, fault.clock.step, fault.clock.drift)
            for fault in sorted(faults, key=lambda fault: fault.begins)
            if fault.clock is not None
        ]
        self._drifts = [(begins, ends, 1.0 + drift) for begins, ends, _, drift in self._faults if drift]

    def shown(self, at: float) -> float:
        """Return what the clock shows at trial time `at` (s)."""
        for begins, ends, step, drift in self._faults:
            if begins <= at < ends:
                return at + step + drift * (at - begins)
        return at

    def due(self, at: float, delay: float) -> float:
        """Return the trial time (s) at which `delay` seconds have passed on this clock since `at`."""
        for begins, ends, rate in self._drifts:
            if at + delay <= begins:
                break
            if at >= ends:
                continue
            if at < begins:
                delay -= begins - at
                at = begins
            if delay <= (ends - at) * rate:
                return at + delay / rate
            delay -= (ends - at) * rate
            at = ends
        return at + delay


def own_clocks(faults: Sequence[FaultSpec], hit: Sequence[Collection[int]]) -> dict[int, OwnClock]:
    """Return the clock of each peer that a clock fault hits; `hit` has the peers that each fault hits."""
    of_peers: dict[int, list[FaultSpec]] = {}
    for fault, peers in zip(faults, hit, strict=True):
        for peer in peers if fault.clock is not None else ():
            of_peers.setdefault(peer, []).append(fault)
    return {peer: OwnClock(those) for peer, those in of_peers.items()}
