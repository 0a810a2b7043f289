"""Delays packets that leave this network namespace, by their destination, with the kernel's netem."""

from __future__ import annotations

import errno
import os
import platform
import socket
from collections.abc import Callable
from types import TracebackType

from pyroute2.netlink import nlmsg
from pyroute2.netlink.rtnl import (
    RTM_DELQDISC,
    RTM_DELTFILTER,
    RTM_GETLINK,
    RTM_GETROUTE,
    RTM_NEWQDISC,
    RTM_NEWTCLASS,
    RTM_NEWTFILTER,
)
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from emulator.network.netem import messages
from emulator.network.netem.netlink import GET, GONE, NEW, NEW_OR_CHANGED, Netlink
from emulator.network.netem.rules import QUANTUM, DelayClass, Destinations, Filter, Rule, Table

Leaf = Callable[[int, DelayClass, int], nlmsg]
"""A function that makes the queue of a class, from the interface's index, the class and a seed."""

_LOOPBACK = 1
"""The index of `lo` in every network namespace."""


class NetemUnavailable(Exception):
    """The kernel has no netem, or this process may not use it; the message says which."""


def why_unavailable() -> str | None:
    """Return the reason why this process cannot delay packets by netem here, or None if it can.

    The test changes nothing. It asks for queues without their options, on the loopback interface. The kernel
    always refuses that, and its error tells whether the permission, the kind of queue or only the options are
    missing.
    """
    try:
        with Netlink() as netlink:
            for kind in ("htb", "netem"):
                try:
                    netlink.request(messages.probe(kind, _LOOPBACK), RTM_NEWQDISC, NEW)
                except OSError as refusal:
                    if refusal.errno != errno.EINVAL:
                        return _reason(refusal, f"sch_{kind}")
    except OSError as failure:
        return _no_netlink(failure)
    return None


class Netem:
    """A context manager with the delays of one interface.

    Each destination's packets wait in the class whose delay is nearest to what was asked; all other packets
    pass at once. Only leaving packets are delayed: when both ends do so, a round trip takes twice the one-way
    delay. The object remembers what the kernel has, so another process must not change it.
    """

    def __init__(
        self,
        interface: str | None = None,
        *,
        seed: int = 0,
        quantum: float = QUANTUM,
        leaf: Leaf = messages.netem_leaf,
    ) -> None:
        """Put an HTB at the root of an interface, by default that of the default route.

        An HTB that an earlier process left there is removed. `seed` (64 bits) starts the kernel's own random
        numbers (6.6 and later), `quantum` is the step between delays in seconds. Raises NetemUnavailable.
        """
        self._seed = seed
        self._leaf = leaf
        self._destinations = Destinations(quantum)
        self._programmed: dict[tuple[str, int], Rule] = {}
        try:
            self._netlink = Netlink()
        except OSError as failure:
            raise NetemUnavailable(_no_netlink(failure)) from failure
        try:
            self._interface = _find_interface(self._netlink, interface)
            self._remove_root()
            self._put_root()
        except BaseException:
            self._netlink.close()
            raise

    def __enter__(self) -> Netem:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def delay_to(self, address: str, seconds: float) -> None:
        """Delay packets to an IPv4 address by `seconds` from now on, in the place of an earlier delay.

        Packets on their way keep their delay. A repeated call asks the kernel nothing; a new delay takes a
        few tenths of a millisecond. Raises ValueError as `Destinations.rules_to` does, NetemUnavailable if
        the kernel refuses, after which the call can be made again.
        """
        if self._destinations.minor(seconds) == 0:
            self.forget(address)
            return
        for rule in self._destinations.rules_to(address, seconds):
            if self._programmed.get(rule.key) != rule:
                self._program(rule)
                self._programmed[rule.key] = rule

    def forget(self, address: str) -> None:
        """Stop delaying packets to this address. An address without a delay is no error."""
        handle = self._destinations.forget(address)
        if handle is not None and self._programmed.pop(("filter", handle), None) is not None:
            self._ask(messages.filter_named(self._interface, handle), RTM_DELTFILTER, GONE, "to delete it")

    def close(self) -> None:
        """Remove all rules, with the packets that wait. An interface that is gone is no error."""
        try:
            self._remove_root()
        finally:
            self._netlink.close()

    def _program(self, rule: Rule) -> None:
        index = self._interface
        match rule:
            case DelayClass():
                self._ask(messages.htb_class(index, rule), RTM_NEWTCLASS, NEW, "a class")
                self._ask(self._leaf(index, rule, self._seed), RTM_NEWQDISC, NEW, "sch_netem")
            case Table():
                self._ask(messages.hash_table(index, rule), RTM_NEWTFILTER, NEW, "cls_u32")
            case Filter():
                self._ask(messages.u32_filter(index, rule), RTM_NEWTFILTER, NEW_OR_CHANGED, "a filter")

    def _put_root(self) -> None:
        try:
            self._netlink.request(messages.root(self._interface), RTM_NEWQDISC, NEW)
        except OSError as refusal:
            if refusal.errno == errno.EEXIST:
                raise NetemUnavailable("the interface has a root qdisc of somebody else") from refusal
            raise NetemUnavailable(_reason(refusal, "sch_htb")) from refusal

    def _remove_root(self) -> None:
        try:
            self._netlink.request(messages.root_named(self._interface), RTM_DELQDISC, GONE)
        except OSError as refusal:
            if refusal.errno not in (errno.ENOENT, errno.EINVAL, errno.ENODEV):
                raise NetemUnavailable(_reason(refusal, "sch_htb")) from refusal

    def _ask(self, message: nlmsg, kind: int, flags: int, what: str) -> None:
        try:
            self._netlink.request(message, kind, flags)
        except OSError as refusal:
            # A part of a class stays if the kernel refused the class's queue before.
            if not (flags == NEW and refusal.errno == errno.EEXIST):
                raise NetemUnavailable(_reason(refusal, what)) from refusal


def _find_interface(netlink: Netlink, name: str | None) -> int:
    """Return the index of an interface, by default of that of the default route."""
    if name is not None:
        links = netlink.request(ifinfmsg(), RTM_GETLINK, GET)
        found = [link["index"] for link in links if link.get_attr("IFLA_IFNAME") == name]
        if not found:
            raise NetemUnavailable(f"there is no interface {name!r}")
        return int(found[0])
    request = rtmsg()
    request["family"] = socket.AF_INET
    defaults = [
        (route.get_attr("RTA_PRIORITY") or 0, route.get_attr("RTA_OIF"))
        for route in netlink.request(request, RTM_GETROUTE, GET)
        if route["dst_len"] == 0 and route.get_attr("RTA_OIF") is not None
    ]
    if not defaults:
        raise NetemUnavailable("there is no default route by which to choose the interface; name it")
    return int(min(defaults)[1])


def _reason(refusal: OSError, what: str) -> str:
    match refusal.errno:
        case errno.EPERM | errno.EACCES:
            return "this process may not change its network namespace: it has no capability NET_ADMIN"
        case errno.ENOENT if what.startswith(("sch_", "cls_")):
            return f"the kernel {platform.release()} has no {what}"
        case code:
            return f"the kernel {platform.release()} refuses {what}: {os.strerror(code or 0)}"


def _no_netlink(failure: OSError) -> str:
    return f"there is no netlink here: {failure.strerror or failure}"
