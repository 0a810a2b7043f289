"""What the kernel keeps of the rules that it is given, netem or not."""

from __future__ import annotations

import errno
import ipaddress
import os
import platform
from collections.abc import Iterator
from typing import Any

import pytest
from netem_u32 import Lookup, read_filters
from netem_world import configuring, give_address, namespace, need_root, within

from emulator.contract.random_streams import generator
from emulator.network.king_like import king_rtt
from emulator.network.netem import messages
from emulator.network.netem.netlink import Netlink
from emulator.network.netem.refusals import NetemUnavailable
from emulator.network.netem.rules import QUANTUM, DelayClass, Rule, Table
from emulator.network.netem.shaper import Netem, why_unavailable


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    """A namespace with an interface `eth0` that has the default route."""
    need_root()
    with namespace("rules") as name:
        with configuring(name) as here:
            here.link("add", ifname="eth0", kind="veth", peer="far")
            for interface in ("eth0", "far"):
                here.link("set", index=here.link_lookup(ifname=interface)[0], state="up")
        give_address(name, "eth0", "10.0.0.1", 8)
        yield name


def shape(place: str, **options: Any) -> Netem:
    with within(place):
        return Netem("eth0", leaf=messages.plain_leaf, **options)


class Kernel:
    """The HTB of the namespace's interface, as the kernel tells of it."""

    def __init__(self, name: str) -> None:
        with configuring(name) as here:
            index = here.link_lookup(ifname="eth0")[0]
            self.qdiscs = {q["handle"]: q for q in here.get_qdiscs(index=index)}
            self.classes = {c["handle"] & 0xFFFF for c in here.get_classes(index=index)}
        with within(name):
            self.rules: list[Rule] = read_filters(index) if messages.HTB in self.qdiscs else []
        self._lookup = Lookup(self.rules)

    def find(self, *addresses: str) -> list[int | None]:
        return [self._lookup.find(int(ipaddress.IPv4Address(address))) for address in addresses]


def test_the_kernel_finds_for_each_destination_the_class_of_its_delay(place: str) -> None:
    one_way = king_rtt(301, 0.180, generator(5, "netem"))[0, 1:] / 2
    delays = {f"10.{1 + i % 3}.{i // 110}.{2 + i % 110}": float(d) for i, d in enumerate(one_way)}
    with within(place), Netem(leaf=messages.plain_leaf) as netem:
        for address, seconds in delays.items():
            netem.delay_to(address, seconds)
        kernel = Kernel(place)
    for minor, seconds in zip(kernel.find(*delays), delays.values(), strict=True):
        assert minor in kernel.classes
        assert minor * QUANTUM == pytest.approx(seconds, abs=QUANTUM / 2 + 1e-9)
        assert kernel.qdiscs[(minor + 1) << 16]["parent"] == messages.HTB | minor
    assert kernel.find("10.96.0.10", "10.4.0.2", "192.168.0.2") == [None, None, None]
    assert len([rule for rule in kernel.rules if isinstance(rule, Table)]) == 1 + 3


def test_a_destination_that_moves_is_delayed_anew_and_one_that_goes_is_not(place: str) -> None:
    with shape(place, quantum=0.001) as netem:
        netem.delay_to("10.0.3.4", 0.030)
        netem.delay_to("10.1.3.4", 0.010)
        netem.delay_to("10.0.3.4", 0.050)
        netem.forget("10.1.3.4")
        netem.forget("10.9.9.9")
        assert Kernel(place).find("10.0.3.4", "10.1.3.4") == [50, None]
        netem.delay_to("10.1.3.4", 0.020)
        netem.delay_to("10.0.3.4", 0.0001)
        assert Kernel(place).find("10.0.3.4", "10.1.3.4") == [None, 20]


def test_asking_again_for_the_same_delay_asks_the_kernel_nothing(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shape(place) as netem:
        netem.delay_to("10.0.0.9", 0.1)
        with monkeypatch.context() as patch:
            patch.setattr(Netlink, "request", None)
            netem.delay_to("10.0.0.9", 0.1)
            netem.delay_to("10.0.0.9", 0.10001)


@pytest.mark.parametrize("asked", range(7))
def test_a_call_that_failed_half_way_can_be_made_again(
    asked: int, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Netlink.request
    done = 0

    def fail_after(*arguments: Any) -> Any:
        nonlocal done
        done += 1
        if done > asked:
            raise OSError(errno.ENOBUFS, "")
        return request(*arguments)

    with shape(place) as netem:
        with monkeypatch.context() as patch, pytest.raises(NetemUnavailable, match="No buffer space"):
            patch.setattr(Netlink, "request", fail_after)
            netem.delay_to("10.0.7.1", 0.1)
        netem.delay_to("10.0.7.1", 0.1)
        kernel = Kernel(place)
        assert kernel.find("10.0.7.1") == [400]
        assert kernel.qdiscs[401 << 16]["parent"] == messages.HTB | 400


def test_closing_leaves_nothing(place: str) -> None:
    with shape(place) as netem:
        netem.delay_to("10.0.0.9", 0.1)
    kernel = Kernel(place)
    assert (kernel.classes, kernel.rules) == (set(), [])
    assert "htb" not in {qdisc.get_attr("TCA_KIND") for qdisc in kernel.qdiscs.values()}


def test_closing_is_no_error_when_the_interface_is_gone() -> None:
    need_root()
    with namespace("gone") as name:
        with configuring(name) as here:
            here.link("add", ifname="eth0", kind="veth", peer="far")
            netem = shape(name)
            here.link("del", index=here.link_lookup(ifname="eth0")[0])
        netem.close()


def test_what_an_earlier_process_left_is_taken_away(place: str) -> None:
    earlier = shape(place)
    earlier.delay_to("10.0.0.9", 0.1)
    with shape(place) as netem:
        netem.delay_to("10.0.0.10", 0.1)
        assert Kernel(place).find("10.0.0.9", "10.0.0.10") == [None, 400]
    earlier.close()


def test_a_queue_of_somebody_else_is_left_alone(place: str) -> None:
    with configuring(place) as here:
        index = here.link_lookup(ifname="eth0")[0]
        here.tc("add", "pfifo", index=index, handle=0x50000, limit=10)
        try:
            with pytest.raises(NetemUnavailable, match="root qdisc of somebody else"):
                shape(place)
            assert Kernel(place).qdiscs.keys() == {0x50000}
        finally:
            here.tc("del", index=index, handle=0x50000, root=True)


def test_a_missing_interface_is_named(place: str) -> None:
    with within(place), pytest.raises(NetemUnavailable, match="no interface 'eth7'"):
        Netem("eth7")


def test_without_a_default_route_the_interface_must_be_named() -> None:
    need_root()
    wanted = pytest.raises(NetemUnavailable, match="no default route")
    with namespace("routeless") as name, within(name), wanted:
        Netem()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.EPERM, "no capability NET_ADMIN"),
        (errno.ENOENT, f"the kernel {platform.release()} has no sch_htb"),
        (errno.EOPNOTSUPP, "refuses sch_htb: Operation not supported"),
    ],
)
def test_what_is_missing_is_said(code: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(code, "")

    monkeypatch.setattr(Netlink, "request", refuse)
    assert reason in (why_unavailable() or "")


def test_a_process_without_the_capability_is_told_so(place: str) -> None:
    """The test runs in a child process, because it does not get back what it gives away."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresuid(65532, 65532, 65532)
            os._exit(0 if "NET_ADMIN" in (why_unavailable() or "") else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_leaf_says_its_delay_in_nanoseconds_its_limit_and_the_seed() -> None:
    message = messages.netem_leaf(3, DelayClass(minor=40, delay_ns=10_000_001, limit=1234), seed=99)
    message.encode()
    read = messages.NetemRequest(message.data)
    read.decode()
    options = read.get_attr("TCA_OPTIONS")
    assert (read["handle"], read["parent"]) == (41 << 16, 1 << 16 | 40)
    assert (options["latency"], options["limit"], options["jitter"], options["loss"]) == (156_250, 1234, 0, 0)
    assert options.get_attr("TCA_NETEM_LATENCY64") == 10_000_001
    assert options.get_attr("TCA_NETEM_PRNG_SEED") == 99
