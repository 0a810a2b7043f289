"""What 5,000 destinations cost netem: the time to program them, and to look one up for each packet.

Needs root, for a network namespace of its own. A kernel without sch_netem gets the same classes and
filters with plain queues.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyroute2 import IPRoute, netns

from emulator.contract.random_streams import generator
from emulator.network.king_like import king_rtt
from emulator.network.netem.messages import netem_leaf, plain_leaf
from emulator.network.netem.shaper import Leaf, Netem, why_unavailable

DESTINATIONS = 5000
NEIGHBOURS = 50
"""Destinations to which one peer may have packets on their way."""
PACKETS = 30_000
ROUNDS = 5
_NOBODY = "10.9.9.9"
_PORT = 9


@contextmanager
def namespace() -> Iterator[None]:
    """Enter a new namespace, in which packets leave by `eth0` and are thrown away at the other end of the
    wire."""
    name = f"trellis-benchmark-{os.getpid()}"
    netns.create(name)
    netns.pushns(name)
    try:
        with IPRoute() as here:
            here.link("add", ifname="eth0", kind="veth", peer="sink")
            near, far = (here.link_lookup(ifname=each)[0] for each in ("eth0", "sink"))
            for each in (near, far):
                here.link("set", index=each, state="up")
            here.link("set", index=far, arp=False)
            here.addr("add", index=near, address="10.0.0.1", prefixlen=24)
            here.neigh("add", dst="10.0.0.2", lladdr="02:00:00:00:00:02", ifindex=near, state="permanent")
            here.route("add", family=socket.AF_INET, dst="default", gateway="10.0.0.2")
        yield
    finally:
        netns.popns()
        netns.remove(name)


def packet_ns(addresses: Sequence[str]) -> float:
    """Return the nanoseconds of processor time that a sent packet takes, the least of some rounds."""
    best = float("inf")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        targets = [(addresses[number * 7919 % len(addresses)], _PORT) for number in range(PACKETS)]
        for _ in range(ROUNDS):
            began = time.thread_time_ns()
            for target in targets:
                sender.sendto(b"", target)
            best = min(best, (time.thread_time_ns() - began) / PACKETS)
    return best


def main(destinations: int = DESTINATIONS) -> None:
    print(f"netem: {destinations} destinations")
    if os.geteuid():
        print("needs root")
        return
    reason = why_unavailable()
    leaf: Leaf = netem_leaf if reason is None else plain_leaf
    if reason is not None:
        print(f"{reason}: plain queues in its place")
    one_way = king_rtt(destinations + 1, 0.180, generator(0, "netem"))[0, 1:] / 2
    addresses = [f"10.{244 + pod // 28160}.{pod // 110 % 256}.{2 + pod % 110}" for pod in range(destinations)]
    with namespace():
        bare = packet_ns(addresses)
        with Netem(leaf=leaf) as netem:
            empty = packet_ns(addresses)
            netem.delay_to(addresses[0], float(one_way[0]))
            single = packet_ns(addresses[:1])
            began, busy = time.perf_counter(), time.process_time()
            for address, seconds in zip(addresses, one_way, strict=True):
                netem.delay_to(address, float(seconds))
            took, busy = time.perf_counter() - began, time.process_time() - busy
            classified = packet_ns(addresses)
            few = packet_ns(addresses[:NEIGHBOURS])
            missed = packet_ns([_NOBODY])
            with IPRoute() as here:
                classes = len(here.get_classes(index=here.link_lookup(ifname="eth0")[0]))
            began = time.perf_counter()
        closing = time.perf_counter() - began
    each = took / destinations * 1e3
    print(f"programming: {took:.2f} s ({busy:.2f} s of CPU), {each:.2f} ms each; {classes} classes")
    print(f"closing: {closing:.2f} s")
    print(f"a packet without HTB {bare:.0f} ns, to no destination of an empty HTB {empty:.0f} ns")
    print(f"a packet to the only destination {single:.0f} ns, to one of all {classified:.0f} ns")
    print(f"a packet to one of {NEIGHBOURS} beside all {few:.0f} ns")
    print(f"a packet to no destination beside all {missed:.0f} ns")


if __name__ == "__main__":
    main(*(int(count) for count in sys.argv[1:]))
