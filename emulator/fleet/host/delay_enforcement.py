"""The choice of what applies delays and rates between hosts, delay line or kernel, and its test."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from emulator.contract.random_streams import stream
from emulator.experiment.file.spec import RealTime, TrialSpec
from emulator.fleet.host.kernel_rates import DELAY_LINE, KERNEL, KernelRates, limits_of, why_not
from emulator.network.echo import measure_round_trips, serve_echo
from emulator.network.peer_network import Network
from emulator.runtime.realtime.agenda import Agenda
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.realtime.self_measurement import encode_use
from trellis.v1 import control_pb2

if TYPE_CHECKING:
    from emulator.network.netem.shaper import Netem

_PARTNERS = 8
"""The most other hosts to which a host measures round trips."""
_LEAD = 6.0
"""All hosts measure this many wall seconds before the trial, when each has programmed its delays."""


class NotEnforced(Exception):
    """The experiment asks for netem, which this host cannot use."""


class Enforcement:
    """An async context manager that enforces delays at one host, for one trial after the other."""

    def __init__(self, address: str, *, netem: bool) -> None:
        """`address` is where this host listens for others; `netem` lets the kernel delay what it sends."""
        self._address = address
        self._allowed = netem
        self._netem: Netem | None = None
        self._echo: asyncio.DatagramTransport | None = None
        self._unavailable = "the host is not allowed to program the kernel (chart value netem.enabled)"
        self._refused = ""
        self._rates: KernelRates | None = None
        self._rates_refused: str | None = None
        """Why the kernel does not limit the rates of links although it delays, None if there are no rates."""
        self._partners: list[int] = []
        self._echoes: list[control_pb2.Echo] = []
        self._index = 0
        self._addresses: list[str] = []
        self._echo_addresses: list[str] = []
        self._programmed: dict[int, str] = {}
        """The addresses whose delays the kernel has, by host."""
        self._peer_at: list[int] = []
        self._time_scale = 1.0
        self._network: Network | None = None

    async def __aenter__(self) -> Enforcement:
        if self._allowed:
            # The import takes a while, and now there is time.
            from emulator.network.netem.shaper import why_unavailable

            self._unavailable = why_unavailable() or ""
            host, _, port = self._address.rpartition(":")
            self._echo = await serve_echo(host.strip("[]"), int(port))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._echo is not None:
            self._echo.close()
        self._close_netem()

    def lacking(self, spec: TrialSpec) -> str:
        """Return why the host cannot do what the experiment asks for, as far as is known before, or ""."""
        if spec.network.enforce != "netem" or not self._unavailable:
            return ""
        return f"the experiment asks for netem: {self._unavailable}"

    @property
    def echo_address(self) -> str:
        """The address at which this host answers echoes, or "" if it does not."""
        return self._address if self._echo is not None else ""

    @property
    def in_kernel(self) -> bool:
        """This is true if the kernel delays what goes to other hosts."""
        return self._netem is not None

    @property
    def limits_rates(self) -> bool:
        """This is true if the kernel limits the rates of this host's links."""
        return self._rates is not None

    def begin(
        self, assignment: control_pb2.Assignment, spec: TrialSpec, network: Network, start: control_pb2.Start
    ) -> None:
        """Set up the delays of a trial that is about to start, and have the kernel limit rates if it can.

        Raises NotEnforced.
        """
        self._close_netem()
        self._echoes = []
        self._index = assignment.host_index
        self._addresses, self._echo_addresses = list(start.addresses), list(start.echo_addresses)
        self._network = network
        self._time_scale = spec.runtime.time_scale if isinstance(spec.runtime, RealTime) else 1.0
        hosts = len(self._addresses)
        self._peer_at = [0] * hosts
        for peer, host in enumerate(assignment.host_of_peer):
            self._peer_at[host] = peer
        self._refused = self._open_netem(spec, alone=hosts == len(assignment.host_of_peer))
        if self._refused and spec.network.enforce == "netem":
            raise NotEnforced(f"the experiment asks for netem: {self._refused}")
        self._limit_rates(spec, network)
        offsets = stream(spec.seed, "echoes").sample(range(1, hosts), min(_PARTNERS, hosts - 1))
        self._partners = [(self._index + offset) % hosts for offset in offsets]
        for offset in offsets if self.in_kernel else ():
            for host in ((self._index + offset) % hosts, (self._index - offset) % hosts):
                self.prepare(host, self._addresses[host])

    def prepare(self, host: int, address: str) -> None:
        """Program the delay to another host at this address, before anything is sent there."""
        if self._netem is None:
            return
        destination = address.rpartition(":")[0]
        if (before := self._programmed.get(host, destination)) != destination:
            self._netem.forget(before)
        self._netem.delay_to(destination, self._one_way(host))
        self._programmed[host] = destination

    async def measure_before(self, clock: TrialClock) -> None:
        """Measure round trips shortly before the trial, unless it has begun."""
        ahead = -clock.now() * clock.scale
        if self._echoing and ahead > 0:
            await asyncio.sleep(max(ahead - _LEAD, 0.0))
            await self._measure(after=False)

    async def measure_after(self) -> None:
        """Measure round trips again after the trial."""
        if self._echoing:
            await self._measure(after=True)

    def follow(self, agenda: Agenda, clock: TrialClock, spec: TrialSpec) -> None:
        """Put the measurements of the kernel's links on the agenda."""
        if self._rates is not None:
            self._rates.follow(agenda, clock, spec)

    def report(self, result: control_pb2.HostFidelity) -> None:
        """Add what applied the delays and rates, and what was measured, to the host's report."""
        result.enforced_by = "netem" if self.in_kernel else "delay line"
        result.netem_refused = self._refused if self._allowed else ""
        if self._rates is not None:
            result.rates_enforced_by = KERNEL
            result.links.extend(map(encode_use, self._rates.use))
        elif self._rates_refused is not None:
            result.rates_enforced_by, result.rates_refused = DELAY_LINE, self._rates_refused
        result.echoes.extend(self._echoes)

    @property
    def _echoing(self) -> bool:
        return self.in_kernel and all(self._echo_addresses)

    async def _measure(self, *, after: bool) -> None:
        targets = [self._echo_addresses[host].rpartition(":") for host in self._partners]
        measured = await measure_round_trips([(host, int(port)) for host, _, port in targets])
        for host, round_trip in zip(self._partners, measured, strict=True):
            expected = int(2e9 * self._one_way(host))
            self._echoes.append(
                control_pb2.Echo(host=host, after=after, round_trip_ns=round_trip or 0, expected_ns=expected)
            )

    def _one_way(self, host: int) -> float:
        """Return the one-way delay to another host in wall seconds."""
        assert self._network is not None
        one_way = self._network.one_way(self._peer_at[self._index], self._peer_at[host])
        return one_way * self._time_scale

    def _open_netem(self, spec: TrialSpec, *, alone: bool) -> str:
        """Have the kernel delay if it may and can.

        Returns why it cannot where the experiment asks for it, or "".
        """
        if spec.network.enforce == "delay-line":
            return ""
        if self._unavailable:
            return self._unavailable
        if not alone:
            return "there are several peers to a host"
        if any(":" in address.rpartition(":")[0] for address in self._addresses):
            return "the hosts have IPv6 addresses, and netem's filters know IPv4 alone"
        from emulator.network.netem.refusals import NetemUnavailable
        from emulator.network.netem.shaper import Netem

        try:
            self._netem = Netem(seed=spec.seed)
        except NetemUnavailable as why:
            return str(why)
        return ""

    def _limit_rates(self, spec: TrialSpec, network: Network) -> None:
        """Have the kernel limit the rates of the host's peer if it can; else the delay line does."""
        bandwidth = spec.network.bandwidth
        if self._netem is None or bandwidth is None:
            return
        self._rates_refused = why_not(spec, self._time_scale)
        if self._rates_refused:
            return
        from emulator.network.netem.refusals import NetemUnavailable

        classes, own = bandwidth.all_classes(), network.link_classes[self._peer_at[self._index]]
        up, down = limits = limits_of(classes[own], self._time_scale)
        try:
            self._netem.limit(up, down, bandwidth.discipline == "fair")
        except NetemUnavailable as why:
            self._rates_refused = str(why)
            return
        network.lift_limits()
        self._rates = KernelRates(self._netem.link_counts, limits, own, len(classes))

    def _close_netem(self) -> None:
        self._rates = self._rates_refused = None
        if self._netem is not None:
            self._netem.close()
            self._netem = None
            self._programmed = {}
