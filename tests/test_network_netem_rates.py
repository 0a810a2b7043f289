"""The rates of links by the kernel: what it keeps of the rules, and what goes through the links.

The kernel needs ifb, act_mirred, sch_htb, sch_tbf and sch_ingress, and no netem: plain queues stand for it.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from netem_u32 import Lookup, read_filters
from netem_world import configuring, connect, give_address, namespace, need_root, within
from pyroute2.netlink import nlmsg

from emulator.network.netem import link_messages, messages
from emulator.network.netem.links import LinkCounts, LinkLimit
from emulator.network.netem.netlink import GONE, Netlink
from emulator.network.netem.refusals import NetemUnavailable
from emulator.network.netem.shaper import Netem

OWN, PEER, OTHER, SECOND = "10.9.0.1", "10.9.0.2", "10.9.0.3", "10.9.0.4"
PORT = 9000
UP, DOWN = 10_000_000, 4_000_000
"""The rates in bit/s."""
HEADERS, LARGEST = 14 + 20 + 32, 1514
"""The bytes of the headers of Ethernet, IP and TCP, and of a packet with them."""


class Place(NamedTuple):
    own: str
    far: str


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """Two namespaces that are joined; the far one has the addresses of two peers and of another program."""
    need_root()
    with namespace("own") as own, namespace("far") as far:
        connect(own, "eth0", far, "eth0")
        give_address(own, "eth0", OWN, 16)
        give_address(far, "eth0", PEER, 16)
        with configuring(far) as there:
            for address in (OTHER, SECOND):
                there.addr("add", index=there.link_lookup(ifname="eth0")[0], address=address, prefixlen=16)
        try:
            with within(own), Netem("eth0", leaf=messages.plain_leaf) as netem:
                netem.limit(LinkLimit(UP // 8, 10_000), LinkLimit(DOWN // 8, 10_000))
        except NetemUnavailable as why:
            pytest.skip(str(why))
        yield Place(own, far)


@pytest.fixture
def limited(place: Place) -> Iterator[Netem]:
    """Links of 10 Mbit/s up and 4 Mbit/s down with queues of 100 ms, for the peer alone."""
    with within(place.own), Netem("eth0", leaf=messages.plain_leaf) as netem:
        netem.limit(LinkLimit(UP // 8, UP // 80), LinkLimit(DOWN // 8, DOWN // 80))
        netem.delay_to(PEER, 0.010)
        yield netem


def counts(netem: Netem, way: int) -> LinkCounts:
    found = netem.link_counts()[way]
    assert found is not None
    return found


def interface(place: Place, name: str = "eth0") -> int:
    with configuring(place.own) as here:
        found: list[int] = here.link_lookup(ifname=name)
        return found[0] if found else 0


class Transfer:
    """TCP from one address to another for a while, by threads."""

    def __init__(self, sender: tuple[str, str], receiver: tuple[str, str], port: int) -> None:
        """`sender` and `receiver` are namespaces and addresses."""
        with within(receiver[0]):
            self._server = socket.create_server((receiver[1], port))
        with within(sender[0]):
            self._sending = socket.create_connection((receiver[1], port), source_address=(sender[1], 0))
        self._receiving, _ = self._server.accept()
        self.received = 0
        self._threads = [threading.Thread(target=each) for each in (self._send, self._receive)]

    def __enter__(self) -> Transfer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for connection in (self._sending, self._receiving):
            connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in (self._sending, self._receiving, self._server):
            each.close()

    def _send(self) -> None:
        data = bytes(1 << 16)
        with contextlib.suppress(OSError):
            while True:
                self._sending.sendall(data)

    def _receive(self) -> None:
        with contextlib.suppress(ConnectionResetError):
            while data := self._receiving.recv(1 << 16):
                self.received += len(data)


def transfer(place: Place, way: int, far: str = PEER, port: int = PORT) -> Transfer:
    own, other = (place.own, OWN), (place.far, far)
    return Transfer(own, other, port) if way == 0 else Transfer(other, own, port)


def test_filters_of_both_ways_send_the_packets_of_peers_through_links(place: Place) -> None:
    peers = {f"10.{1 + i % 3}.{i}.{i % 5}": 0.001 * i for i in range(40)}
    with within(place.own), Netem("eth0", leaf=messages.plain_leaf) as netem:
        netem.limit(LinkLimit(UP // 8, 10_000), LinkLimit(DOWN // 8, 10_000))
        for address, seconds in peers.items():
            netem.delay_to(address, seconds)
        index = interface(place)
        out = messages.Hook(index, messages.HTB, messages.DESTINATION, interface(place, "trellis-up"))
        into = messages.Hook(index, messages.INGRESS, messages.SOURCE, interface(place, "trellis-down"))
        to, of = Lookup(read_filters(index, out)), Lookup(read_filters(index, into))
        for address, seconds in peers.items():
            number = int(ipaddress.IPv4Address(address))
            assert (to.find(number), of.find(number)) == (round(seconds / 0.00025), 0)
        stranger = int(ipaddress.IPv4Address(OTHER))
        assert (to.find(stranger), of.find(stranger)) == (None, None)
        netem.forget("10.2.1.1")
        gone = int(ipaddress.IPv4Address("10.2.1.1"))
        assert [Lookup(read_filters(index, hook)).find(gone) for hook in (out, into)] == [None, None]


@pytest.mark.parametrize("way, rate", [(0, UP), (1, DOWN)])
def test_a_connection_has_the_rate_of_the_link(limited: Netem, place: Place, way: int, rate: int) -> None:
    """Three times are tried, because TCP recovers slowly if other work on the machine holds it up."""
    asked = [rate, rate * (LARGEST - HEADERS) / LARGEST]
    with transfer(place, way) as running:
        time.sleep(2)
        for _ in range(3):
            began, before, goods = time.monotonic(), counts(limited, way), running.received
            time.sleep(5)
            seconds = time.monotonic() - began
            carried = counts(limited, way).bytes - before.bytes, running.received - goods
            wire, good = found = [8 * each / seconds for each in carried]
            print(f"{rate / 1e6} Mbit/s asked: {wire / 1e6:.3f} Mbit/s on the link, {good / 1e6:.3f} of data")
            if found == pytest.approx(asked, rel=0.03):
                return
    pytest.fail("the rate differs by more than 3 %")


@pytest.mark.parametrize("way", [0, 1])
def test_other_traffic_is_not_limited(limited: Netem, place: Place, way: int) -> None:
    before = counts(limited, way)
    with transfer(place, way, OTHER) as running:
        time.sleep(1)
        received = running.received
    print(f"{8 * received / 1e6:.0f} Mbit in a second past the link")
    assert 8 * received > 10 * UP
    assert counts(limited, way).packets - before.packets < 5


def test_what_a_link_hands_back_waits_in_the_class_of_its_delay(limited: Netem, place: Place) -> None:
    assert [size for size, _ in datagrams(place, 0, 5, 1000)] == [1000] * 5
    with configuring(place.own) as here:
        classes = here.get_classes(index=interface(place))
    (delayed,) = [each for each in classes if each["handle"] & 0xFFFF == 40]
    stats = delayed.get_attr("TCA_STATS2").get_attr("TCA_STATS_BASIC")
    assert (stats["bytes"], stats["packets"]) == (5 * 1042 + 42, 5 + 1)


def datagrams(place: Place, way: int, number: int, size: int) -> list[tuple[int, float]]:
    """Send datagrams one behind the other; return the size of each that came, and when (s) since then."""
    ends = [(place.own, OWN), (place.far, PEER)]
    (sender, source), (receiver, address) = ends if way == 0 else ends[::-1]
    with within(sender):
        sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with within(receiver):
        receiving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sending, receiving:
        sending.bind((source, 0))
        receiving.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        receiving.bind((address, PORT))
        receiving.settimeout(0.5)
        sending.sendto(b"", (address, PORT))  # the address of Ethernet is asked for now
        receiving.recv(1)
        time.sleep(0.1)
        began, came = time.monotonic(), []
        for _ in range(number):
            sending.sendto(bytes(size), (address, PORT))
        try:
            while len(came) < number:
                came.append((len(receiving.recv(size)), time.monotonic() - began))
        except TimeoutError:
            pass
        return came


def interleaved(place: Place, way: int, number: int) -> list[str]:
    """Send datagrams to or from a peer, and as many behind them to or from a second; return whose came."""
    peers = (PEER, SECOND)
    with within(place.far):
        far = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in peers]
    with within(place.own):
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with own, far[0], far[1]:
        own.bind((OWN, PORT))
        if way == 0:
            receiving, senders = far[0], [own, own]
            receiving.bind(("0.0.0.0", PORT))  # in a namespace without any other network
        else:
            receiving, senders = own, far
            for each, peer in zip(far, peers, strict=True):
                each.bind((peer, PORT))
        targets = peers if way == 0 else (OWN, OWN)
        receiving.settimeout(0.5)
        for each, target in zip(senders, targets, strict=True):
            each.sendto(b"", (target, PORT))  # the address of Ethernet is asked for now
            receiving.recv(1)
        time.sleep(0.1)
        for each, target, peer in zip(senders, targets, peers, strict=True):
            for _ in range(number):
                each.sendto(peer.encode().ljust(1000), (target, PORT))
        return [receiving.recv(1000).decode().strip() for _ in range(2 * number)]


@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("fair", [True, False])
def test_peers_share_a_fair_link_and_wait_for_each_other_on_another(
    place: Place, way: int, fair: bool
) -> None:
    with within(place.own), Netem("eth0", leaf=messages.plain_leaf) as netem:
        netem.limit(LinkLimit(UP // 8, UP // 40), LinkLimit(DOWN // 8, DOWN // 20), fair)
        netem.delay_to(PEER, 0.010)
        netem.delay_to(SECOND, 0.0)
        came = interleaved(place, way, 40)
        first, second = came[:40].count(PEER), came[:40].count(SECOND)
        print(f"of the first 40: {first} of the first peer, {second} of the second")
        assert (second == pytest.approx(20, abs=4)) if fair else (second <= 1)


@pytest.mark.parametrize("way, rate", [(0, UP), (1, DOWN)])
@pytest.mark.parametrize("number", [1, 3])
def test_a_fair_link_has_its_rate_however_many_share_it(
    place: Place, way: int, rate: int, number: int
) -> None:
    peers = [PEER, SECOND, OTHER][:number]
    with within(place.own), Netem("eth0", leaf=messages.plain_leaf) as netem, contextlib.ExitStack() as stack:
        netem.limit(LinkLimit(UP // 8, UP // 80), LinkLimit(DOWN // 8, DOWN // 80), fair=True)
        for peer in peers:
            netem.delay_to(peer, 0.010)
        for port, peer in enumerate(peers, PORT):
            stack.enter_context(transfer(place, way, peer, port))
        time.sleep(1.5)
        began, before = time.monotonic(), counts(netem, way)
        time.sleep(3)
        seconds, after = time.monotonic() - began, counts(netem, way)
    assert 8 * (after.bytes - before.bytes) / seconds == pytest.approx(rate, rel=0.03)


@pytest.mark.parametrize("way, rate", [(0, UP), (1, DOWN)])
def test_an_idle_link_takes_no_longer_than_its_rate(
    limited: Netem, place: Place, way: int, rate: int
) -> None:
    """A packet leaves when it begins to be sent and not when it has been, and 2 ms are sent at once."""
    alone = min(datagrams(place, way, 1, 1000)[-1][1] for _ in range(5))
    many = min(datagrams(place, way, 20, 1000)[-1][1] for _ in range(5))
    packet = 8 * 1042 / rate
    print(f"{rate / 1e6} Mbit/s: 1,000 bytes after {alone * 1e3:.2f} ms, 20 times that {many * 1e3:.2f} ms")
    assert alone < 0.002
    assert 19 * packet - 0.0025 < many < 20 * packet + 0.002


def test_a_full_queue_drops_what_does_not_fit(limited: Netem, place: Place) -> None:
    before = counts(limited, 0)
    came = datagrams(place, 0, 300, 1000)
    after = counts(limited, 0)
    assert after.drops - before.drops == 300 - len(came)
    assert len(came) == pytest.approx(UP // 80 / 1042, abs=20)


def test_a_packet_that_is_larger_than_the_queue_passes(place: Place) -> None:
    with within(place.own), Netem("eth0", leaf=messages.plain_leaf) as netem:
        netem.limit(LinkLimit(UP // 8, 10), None)
        netem.delay_to(PEER, 0.0)
        assert netem.link_counts()[1] is None
        assert len(datagrams(place, 0, 1, 1400)) == 1
        assert counts(netem, 0).bytes >= 1442


def test_closing_removes_the_links_also_those_of_an_earlier_process(place: Place) -> None:
    with within(place.own):
        earlier = Netem("eth0", leaf=messages.plain_leaf)
        earlier.limit(LinkLimit(UP // 8, 10_000), LinkLimit(DOWN // 8, 10_000))
        with Netem("eth0", leaf=messages.plain_leaf) as netem:
            assert not interface(place, "trellis-up")
            netem.limit(None, LinkLimit(DOWN // 8, 10_000))
            assert not interface(place, "trellis-up") and interface(place, "trellis-down")
        earlier.close()
    assert not interface(place, "trellis-down")
    with configuring(place.own) as here:
        assert {q.get_attr("TCA_KIND") for q in here.get_qdiscs(index=interface(place))} == {"noqueue"}


@pytest.mark.parametrize(
    ("kind", "code", "why"),
    [
        ("ifb", errno.EOPNOTSUPP, "has no ifb"),
        ("tbf", errno.ENOENT, "has no sch_tbf"),
        ("ingress", errno.ENOENT, "has no sch_ingress"),
        ("mirred", errno.ENOENT, "has no act_mirred"),
    ],
)
def test_a_kernel_that_lacks_a_part_limits_nothing_and_delays_still(
    place: Place, kind: str, code: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Netlink.request

    def refuse(self: Netlink, message: nlmsg, asked: int, flags: int) -> Any:
        if f"'{kind}'" in str(message["attrs"]) and flags != GONE:
            raise OSError(code, "")
        return request(self, message, asked, flags)

    with within(place.own), Netem("eth0", leaf=messages.plain_leaf) as netem:
        with monkeypatch.context() as patch:
            patch.setattr(Netlink, "request", refuse)
            with pytest.raises(NetemUnavailable, match=why):
                netem.limit(LinkLimit(UP // 8, 10_000), LinkLimit(DOWN // 8, 10_000))
        assert not interface(place, "trellis-up") and not interface(place, "trellis-down")
        netem.delay_to(PEER, 0.010)
        assert Lookup(read_filters(interface(place))).find(int(ipaddress.IPv4Address(PEER))) == 40
        assert len(datagrams(place, 0, 1, 1000)) == len(datagrams(place, 1, 1, 1000)) == 1


def test_a_queue_of_somebody_else_is_left_alone(place: Place) -> None:
    with configuring(place.own) as here:
        index = interface(place)
        here.tc("add", "ingress", index=index)
        wanted = pytest.raises(NetemUnavailable, match="ingress qdisc of somebody else")
        try:
            with within(place.own), Netem("eth0", leaf=messages.plain_leaf) as netem, wanted:
                netem.limit(None, LinkLimit(DOWN // 8, 10_000))
            assert "ingress" in {q.get_attr("TCA_KIND") for q in here.get_qdiscs(index=index)}
        finally:
            here.tc("del", "ingress", index=index)


def test_a_rate_of_many_gigabits_is_told_in_words_of_64_bits() -> None:
    message = link_messages.link_class(3, 10**10, 1514)
    message.encode()
    read = messages.HtbRequest(message.data)
    read.decode()
    options = read.get_attr("TCA_OPTIONS")
    assert options.get_attr("TCA_HTB_RATE64") == options.get_attr("TCA_HTB_CEIL64") == 10**10
