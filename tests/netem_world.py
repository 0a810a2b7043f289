"""Network namespaces for tests, and the kernel that they run under."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyroute2 import IPRoute, netns

from emulator.network.netem.shaper import why_unavailable

KERNEL = "TRELLIS_NETEM_KERNEL"
"""Names a command prefix that runs a command under a kernel with netem, as root."""


def netem_kernel() -> list[str]:
    """Return what to put before a command so that it has netem. Skips the test if there is nothing."""
    if prefix := os.environ.get(KERNEL):
        return shlex.split(prefix)
    if (reason := why_unavailable()) is not None:
        pytest.skip(f"{reason} ({KERNEL} may name a command that runs another under a kernel with netem)")
    return []


def need_root() -> None:
    if os.geteuid():
        pytest.skip("network namespaces need root")


def told_by(program: str, folder: Path, limit: float, prefix: Sequence[str] = ()) -> dict[str, Any]:
    """Run a program of the tests with a folder as its argument, and return the JSON that it prints last.

    What fails has the ends of the folder's logs. The program has `limit` seconds.
    """
    here = Path(__file__).parent
    command = [*prefix, sys.executable, str(here / program), str(folder)]
    done = subprocess.run(
        command, cwd=here.parent, capture_output=True, text=True, timeout=limit, check=False
    )
    logs = "".join(f"{log.name}: {log.read_text()[-2000:]}\n" for log in sorted(folder.glob("*.log")))
    assert done.returncode == 0, done.stdout + done.stderr + logs
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def within(name: str) -> Iterator[None]:
    """This thread is in the namespace, with all sockets that it makes."""
    netns.pushns(name)
    try:
        yield
    finally:
        netns.popns()


@contextmanager
def configuring(name: str) -> Iterator[IPRoute]:
    """Open the network configuration of a namespace."""
    with within(name):
        route = IPRoute()
    with route:
        yield route


@contextmanager
def namespace(label: str) -> Iterator[str]:
    """Make a new network namespace with `lo` up, and yield its name, which no other process has."""
    name = f"trellis-{os.getpid()}-{label}"
    netns.create(name)
    try:
        with configuring(name) as here:
            here.link("set", index=1, state="up")
        yield name
    finally:
        netns.remove(name)


def connect(first: str, first_interface: str, second: str, second_interface: str) -> None:
    """Connect two namespaces by a veth pair, both ends up."""
    with configuring(first) as here:
        here.link(
            "add",
            ifname=first_interface,
            kind="veth",
            peer={"ifname": second_interface, "net_ns_fd": second},
        )
        here.link("set", index=here.link_lookup(ifname=first_interface)[0], state="up")
    with configuring(second) as there:
        there.link("set", index=there.link_lookup(ifname=second_interface)[0], state="up")


def give_address(name: str, interface: str, address: str, prefix: int) -> None:
    """Give the interface an address, and a default route through it."""
    with configuring(name) as here:
        index = here.link_lookup(ifname=interface)[0]
        here.addr("add", index=index, address=address, prefixlen=prefix)
        here.route("add", family=socket.AF_INET, dst="default", oif=index)


@contextmanager
def hosts(count: int) -> Iterator[dict[str, str]]:
    """Make namespaces on one bridge, each with an interface `eth0`, and yield each namespace by its IPv4
    address."""
    with ExitStack() as stack:
        hub = stack.enter_context(namespace("hub"))
        with configuring(hub) as here:
            here.link("add", ifname="bridge", kind="bridge")
            bridge = here.link_lookup(ifname="bridge")[0]
            here.link("set", index=bridge, state="up")
        found = {}
        for number in range(1, count + 1):
            name = stack.enter_context(namespace(str(number)))
            connect(hub, f"port{number}", name, "eth0")
            with configuring(hub) as here:
                here.link("set", index=here.link_lookup(ifname=f"port{number}")[0], master=bridge)
            address = f"10.77.{number // 250}.{number % 250}"
            give_address(name, "eth0", address, 16)
            found[address] = name
        yield found
