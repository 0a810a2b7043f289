"""Rates that the kernel limits: which it is given, what is told of them, what is left to the delay line."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from coordinator_world import SECOND, VERSIONS, begin, register, result, spec_of

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.fidelity import Fidelity
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.fleet.host.assignment import network_in
from emulator.fleet.host.delay_enforcement import Enforcement
from emulator.fleet.host.kernel_rates import KernelRates, limits_of, why_not
from emulator.network.access_links import LinkRates
from emulator.network.link_use import LinkUse
from emulator.network.netem import shaper
from emulator.network.netem.links import LinkCounts, LinkLimit
from emulator.network.netem.refusals import NetemUnavailable
from emulator.network.peer_network import Network
from trellis.v1 import control_pb2

CLASSES = [
    {"name": "home", "share": 0.5, "up": "8 Mbit/s", "down": "4 Mbit/s"},
    {"name": "far", "share": 0.5, "up": "1 Mbit/s"},
]
LATENCY = {"kind": "constant", "rtt": "40 ms"}


def spec(**fields: Any) -> Any:
    network = {"latency": LATENCY, "bandwidth": {"classes": CLASSES}} | fields.pop("network", {})
    return spec_of(2, network=network, **fields)


class FakeNetem:
    """A kernel that delays, and limits unless it is told why not."""

    refusal = ""
    limits: Any = None
    fair = False

    def __init__(self, **_: Any) -> None:
        type(self).limits = None

    def limit(self, up: LinkLimit | None, down: LinkLimit | None, fair: bool) -> None:
        if self.refusal:
            raise NetemUnavailable(self.refusal)
        type(self).limits, type(self).fair = (up, down), fair

    def delay_to(self, address: str, seconds: float) -> None:
        pass

    def link_counts(self) -> list[LinkCounts | None]:
        return [None, None]

    def close(self) -> None:
        pass


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> type[FakeNetem]:
    monkeypatch.setattr(shaper, "Netem", FakeNetem)
    monkeypatch.setattr(FakeNetem, "refusal", "")
    return FakeNetem


def begun(
    asked: Any, host: str = "host-0", allowed: bool = True, lacking: str = ""
) -> tuple[Enforcement, Network, control_pb2.HostFidelity]:
    """A host at which a trial begins, the network that is left to its delay line, and what it reports."""
    coordinator = Coordinator(asked, draw_plan(asked), "experiment", "trial")
    assignment = [register(coordinator, each) for each in ("host-0", "host-1")][int(host[-1])]
    network = network_in(assignment, asked)
    enforcement = Enforcement("10.0.0.1:7001", netem=allowed)
    enforcement._unavailable = lacking
    addresses = ["10.0.0.1:7001", "10.0.0.2:7001"]
    enforcement.begin(assignment, asked, network, control_pb2.Start(addresses=addresses))
    told = control_pb2.HostFidelity()
    enforcement.report(told)
    return enforcement, network, told


def test_the_kernel_limits_the_links_of_the_hosts_peer_and_the_delay_line_no_more(
    kernel: type[FakeNetem],
) -> None:
    of_classes = [
        (LinkLimit(1_000_000, 100_000), LinkLimit(500_000, 50_000)),
        (LinkLimit(125_000, 12_500), None),
    ]
    for peer, host in enumerate(("host-0", "host-1")):
        enforcement, network, told = begun(spec(), host)
        assert kernel.limits == of_classes[network.link_classes[peer]]
        assert network.access is network.shared is None and enforcement.limits_rates
        assert (told.rates_enforced_by, told.rates_refused, len(told.links)) == ("kernel", "", 4)
    assert sorted(network.link_classes) == [0, 1]


def test_the_kernel_is_told_which_links_are_shared_fairly(kernel: type[FakeNetem]) -> None:
    for discipline in ("fair", "fifo"):
        begun(spec(network={"bandwidth": {"up": "1 Mbit/s", "discipline": discipline}}))
        assert kernel.limits == (LinkLimit(125_000, 12_500), None)
        assert kernel.fair is (discipline == "fair")


def test_a_kernel_that_cannot_leaves_rates_to_the_delay_line_with_the_reason(kernel: type[FakeNetem]) -> None:
    kernel.refusal = "the kernel has no ifb"
    enforcement, network, told = begun(spec())
    assert network.access is not None and not enforcement.limits_rates and enforcement.in_kernel
    assert (told.rates_enforced_by, told.rates_refused) == ("delay line", "the kernel has no ifb")
    assert not told.links


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"network": {"overhead": 60}}, "network.overhead is counted for each message"),
        ({"network": {"bandwidth": {"up": "7 kbit/s"}}}, "less than 8 kbit/s"),
        ({"network": {"bandwidth": {"up": "1 Gbit/s", "queue": "35 s"}}}, "holds more than 4 GiB"),
        (
            {
                "network": {"bandwidth": {"up": "1 Mbit/s"}},
                "faults": [
                    {
                        "name": "slow",
                        "at": "3 s",
                        "for": "1 s",
                        "links": {"number": 1, "bandwidth": {"up": "0 bit/s"}},
                    }
                ],
            },
            "faults change the rates",
        ),
    ],
)
def test_rates_that_the_kernel_does_not_know_are_left_to_the_delay_line(
    kernel: type[FakeNetem], fields: dict[str, Any], why: str
) -> None:
    asked = spec(**fields)
    assert why in why_not(asked, 1.0)
    _, network, told = begun(asked)
    assert kernel.limits is None
    assert network.access is not None or network.shared is not None
    assert told.rates_enforced_by == "delay line" and why in told.rates_refused


def test_nothing_is_told_of_rates_where_the_delay_line_delays_or_links_have_none(
    kernel: type[FakeNetem],
) -> None:
    for asked in (spec(network={"enforce": "delay-line"}), spec_of(2, network={"latency": LATENCY})):
        _, _, told = begun(asked)
        assert (told.rates_enforced_by, told.rates_refused) == ("", "")
    assert kernel.limits is None


def test_rates_are_those_of_wall_time_and_the_room_is_the_same() -> None:
    rates = LinkRates(8_000_000, 0, 100_000_000)
    assert limits_of(rates, 1.0) == [LinkLimit(1_000_000, 100_000), None]
    assert limits_of(rates, 4.0) == [LinkLimit(250_000, 100_000), None]
    assert why_not(spec(network={"bandwidth": {"up": "30 kbit/s"}}), 4.0)


def counted(*looks: tuple[float, LinkCounts], scale: float = 1.0) -> LinkUse:
    """The use of an up link of 8 Mbit/s, whose counters are read at these times."""
    reads = iter([counts, None] for _, counts in looks)
    rates = KernelRates(lambda: next(reads), [LinkLimit(1_000_000, 100_000), None], 1, 2)
    rates._scale = scale
    for at, _ in looks:
        rates.look(at)
    uses = rates.use
    assert [use.bytes for use in (uses[0], uses[1], uses[3])] == [0, 0, 0]
    return uses[2]


def test_what_the_links_carried_is_what_their_counters_rose() -> None:
    use = counted(
        (5.0, LinkCounts(1000, 10, 4, 0)),
        (5.02, LinkCounts(3000, 13, 4, 0)),
        (5.04, LinkCounts(9000, 20, 9, 0)),
    )
    assert (use.bytes, use.packets, use.drops, use.busy_s) == (8000, 10, 5, 0)


def test_what_the_links_carried_is_told_by_intervals_of_the_time_series() -> None:
    asked = spec(telemetry={"metrics_interval": "1 s"})
    reads = iter([LinkCounts(1000 * number, number, 0, 0), None] for number in (1, 3, 7))
    rates = KernelRates(lambda: next(reads), [LinkLimit(1_000_000, 100_000), None], 0, 1)
    agenda, clock = Mock(), Mock(scale=1.0)
    rates.follow(agenda, clock, asked)
    rates.look(time.monotonic())
    begins = [add.args for add in agenda.add.call_args_list if add.args[0] > asked.phases.measure_start]
    assert [at for at, _ in begins] == [begin for begin, _ in asked.intervals()[1:]]
    begins[0][1]()
    rates.look(time.monotonic())
    up, down = rates.use
    assert [(each.bytes, each.packets) for each in up.intervals()] == [(2000, 2), (4000, 4)]
    assert up.whole().bytes == 6000 and len(down.past) == 1


def test_counters_of_packets_may_begin_anew() -> None:
    use = counted((0.0, LinkCounts(0, 2**32 - 5, 2**32 - 1, 0)), (1.0, LinkCounts(99, 5, 1, 0)))
    assert (use.packets, use.drops) == (10, 2)


def test_a_rate_is_measured_while_more_waits_than_the_link_can_send() -> None:
    looks = [
        (1.00, LinkCounts(0, 0, 0, 40_000)),
        (1.02, LinkCounts(19_000, 0, 0, 29_000)),
        (1.04, LinkCounts(30_000, 0, 0, 50_000)),
        (1.06, LinkCounts(49_000, 0, 0, 30_000)),
    ]
    use = counted(*looks)
    assert (use.busy_bits, use.busy_s) == (8 * 38_000, pytest.approx(0.04))
    assert counted(*looks, scale=2.0).busy_s == pytest.approx(0.02)


def judged(**told: Any) -> Fidelity:
    asked = spec_of(5, network={"latency": LATENCY, "bandwidth": {"up": "8 Mbit/s"}})
    coordinator = Coordinator(asked, draw_plan(asked), "experiment", "trial")
    begin(coordinator)
    for host in ("host-0", "host-1"):
        coordinator.finish(result(host, enforced_by="netem", **told), 10 * SECOND)
    return judge(coordinator, VERSIONS)


def test_fidelity_tells_of_packets_and_judges_the_rate(tmp_path: Path) -> None:
    use = control_pb2.LinkUse(bytes=500, packets=7, drops=2, busy_bits=39.2e6, busy_s=5.0)
    fidelity = judged(rates_enforced_by="kernel", links=[use, control_pb2.LinkUse()])
    fidelity.write(tmp_path / "fidelity.json")
    written = json.loads((tmp_path / "fidelity.json").read_text())
    assert written["rates_enforced_by"] == "kernel" and "rates_refused" not in written
    (link,) = written["links"]
    assert (link["messages"], link["wait_mean_ms"], link["wait_p99_ms"], link["wait_max_ms"]) == (None,) * 4
    assert (link["packets"], link["bytes"], link["drops"]) == (14, 1000, 4)
    assert link["achieved_bit_s"] == 7.84e6
    checks = {check["name"]: check for check in written["checks"]}
    assert checks["rate of links, largest error"]["measured"] == 2
    delay = checks["one-way delay error, 99th percentile"]
    assert delay["measured"] is None and "wait in links that the kernel limits" in delay["detail"]


def test_fidelity_has_the_reason_and_other_trials_have_no_word_of_it(tmp_path: Path) -> None:
    fidelity = judged(rates_enforced_by="delay line", rates_refused="the kernel has no ifb")
    assert (fidelity.rates_enforced_by, fidelity.rates_refused) == ("delay line", "the kernel has no ifb")
    of_messages = control_pb2.LinkUse(bytes=9, waits=control_pb2.Distribution(buckets=[0], counts=[5]))
    judged(links=[of_messages, control_pb2.LinkUse()]).write(tmp_path / "fidelity.json")
    written = json.loads((tmp_path / "fidelity.json").read_text())
    assert not {key for key in written if "rates" in key}
    assert written["links"][0]["messages"] == 10 and "packets" not in written["links"][0]


def test_fidelity_has_the_reason_why_netem_did_not_delay_at_a_host_that_may_use_it(tmp_path: Path) -> None:
    lacking = "the kernel has no sch_netem"
    asked = spec_of(5, network={"latency": LATENCY})
    reasons = [begun(asked, allowed=allowed, lacking=lacking)[2].netem_refused for allowed in (True, False)]
    assert reasons == [lacking, ""]
    for refused in reasons:
        judged(netem_refused=refused).write(tmp_path / "fidelity.json")
        assert json.loads((tmp_path / "fidelity.json").read_text()).get("netem_refused", "") == refused
