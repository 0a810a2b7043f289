"""Probes: a suspected peer is asked a few times before it is declared dead (DSN 2004)."""

from __future__ import annotations

from collections.abc import Callable

from emulator.overlays.pastry.parameters import PastryParameters
from emulator.overlays.pastry.routing_state import RoutingState
from emulator.protocol import Environment, Timer


class _Probe:
    __slots__ = ("ask", "retries", "timer")

    def __init__(self, ask: Callable[[int], None], retries: int) -> None:
        self.ask = ask
        self.retries = retries
        self.timer: Timer | None = None


class Liveness:
    """The probes that are under way."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        state: RoutingState,
        *,
        died: Callable[[int], None],
        settled: Callable[[], None],
    ) -> None:
        """`died` is told a peer that did not answer, `settled` that no probe is under way any more."""
        self._environment = environment
        self._timeout = parameters.probe_timeout
        self._retries = parameters.probe_retries
        self._state = state
        self._died = died
        self._settled = settled
        self._probes: dict[int, _Probe] = {}

    def __contains__(self, peer: int) -> bool:
        return peer in self._probes

    @property
    def idle(self) -> bool:
        """No probe is under way."""
        return not self._probes

    def probe(self, peer: int, ask: Callable[[int], None]) -> None:
        """Ask the peer by `ask(peer)`, unless it is being asked already."""
        if peer not in self._probes:
            probe = self._probes[peer] = _Probe(ask, self._retries)
            self._send(peer, probe)

    def suspect(self, peer: int, ask: Callable[[int], None]) -> None:
        """The peer was silent when it should not have been: probe it, and route around it meanwhile."""
        if peer in self._state and peer not in self._state.suspected:
            self._state.suspected.add(peer)
            self._state.version += 1
        self.probe(peer, ask)

    def answered(self, peer: int) -> None:
        """The peer answered a probe."""
        if peer in self._state.suspected:
            self._state.suspected.remove(peer)
            self._state.version += 1
        if self._end(peer) and not self._probes:
            self._settled()

    def lost(self, peer: int) -> None:
        """The peer is known to be gone."""
        self._end(peer)
        self._died(peer)
        if not self._probes:
            self._settled()

    def stop_probing(self, peer: int) -> None:
        """Others know that the peer is gone."""
        self._end(peer)

    def stop(self) -> None:
        """Forget all probes."""
        for peer in list(self._probes):
            self._end(peer)

    def _send(self, peer: int, probe: _Probe) -> None:
        probe.timer = self._environment.set_timer(self._timeout, lambda: self._expire(peer))
        probe.ask(peer)

    def _expire(self, peer: int) -> None:
        probe = self._probes[peer]
        if probe.retries:
            probe.retries -= 1
            self._send(peer, probe)
        else:
            self.lost(peer)

    def _end(self, peer: int) -> bool:
        probe = self._probes.pop(peer, None)
        if probe is None:
            return False
        if probe.timer is not None:
            probe.timer.cancel()
        return True
