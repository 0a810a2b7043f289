"""The shaper has the kernel's netem delay packets that leave this network namespace, by their destination,
and limits the rates of what it exchanges with these destinations."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Sequence
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
from emulator.network.netem.links import KernelLinks, LinkCounts, LinkLimit, remove_earlier_links
from emulator.network.netem.netlink import GET, GONE, NEW, NEW_OR_CHANGED, Netlink
from emulator.network.netem.refusals import NetemUnavailable, ask, no_netlink, put_own, reason, remove
from emulator.network.netem.rules import QUANTUM, DelayClass, Destinations, Filter, Rule, Share, Table

Leaf = Callable[[int, DelayClass, int], nlmsg]
"""A function that makes the queue of a class, from the interface's index, the class and a seed."""

_LOOPBACK = 1
"""The index of `lo` in every network namespace."""
_NOWHERE = "0.0.0.0"
"""An address that no packet has."""


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
                        return reason(refusal, f"sch_{kind}")
    except OSError as failure:
        return no_netlink(failure)
    return None


class Netem:
    """A context manager with the delays of one interface, and with its rates if they are limited.

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
        self._links: KernelLinks | None = None
        self._programmed: dict[tuple[int, int, tuple[str, int]], Rule] = {}
        """The rules that the kernel has, by interface and queue of their hook and their keys."""
        try:
            self._netlink = Netlink()
        except OSError as failure:
            raise NetemUnavailable(no_netlink(failure)) from failure
        try:
            self._interface = _find_interface(self._netlink, interface)
            self._remove_root()
            remove_earlier_links(self._netlink, self._interface)
            self._put_root()
            self._out = messages.Hook(self._interface, messages.HTB, messages.DESTINATION)
        except BaseException:
            self._netlink.close()
            raise

    def __enter__(self) -> Netem:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def limit(self, up: LinkLimit | None, down: LinkLimit | None, fair: bool = False) -> None:
        """Limit all that goes to the destinations of later calls of `delay_to`, before it is delayed, and all
        that comes from them. None is no limit. Destinations share a `fair` link equally.

        Raises NetemUnavailable if the kernel cannot; it limits nothing then.
        """
        links = KernelLinks(self._netlink, self._interface, up, down, fair)
        self._links, self._out = links, links.out
        try:
            # The first filter tells whether the kernel can send packets through links.
            self.delay_to(_NOWHERE, 0.0)
        except NetemUnavailable:
            self._links, self._out = None, self._out._replace(through=0)
            self.forget(_NOWHERE)
            links.close()
            raise

    def link_counts(self) -> list[LinkCounts | None]:
        """Return what the up and the down link have carried, None for one that the kernel does not limit.

        Raises OSError if a link is gone.
        """
        return [None, None] if self._links is None else self._links.counts()

    def delay_to(self, address: str, seconds: float) -> None:
        """Delay packets to an IPv4 address by `seconds` from now on, in the place of an earlier delay.

        Packets on their way keep their delay. A repeated call asks the kernel nothing; a new delay takes a
        few tenths of a millisecond. Raises ValueError as `Destinations.rules_to` does, NetemUnavailable if
        the kernel refuses, after which the call can be made again.
        """
        if self._destinations.minor(seconds) == 0 and self._links is None:
            self.forget(address)
            return
        if self._links is not None:
            for hook in self._links.shared:
                self._program_all(hook, self._destinations.rules_of_share(address))
            if self._links.into is not None:
                self._program_all(self._links.into, self._destinations.rules_of(address, None))
        self._program_all(self._out, self._destinations.rules_to(address, seconds))

    def forget(self, address: str) -> None:
        """Stop delaying packets to this address and limiting those to it and from it. An address without a
        delay is no error."""
        handle = self._destinations.forget(address)
        if handle is None:
            return
        for hook in self._hooks:
            if self._programmed.pop((hook.interface, hook.parent, ("filter", handle)), None) is not None:
                self._ask(messages.filter_named(handle, hook), RTM_DELTFILTER, GONE, "to delete it")

    def close(self) -> None:
        """Remove all rules, with the packets that wait. An interface that is gone is no error."""
        try:
            self._remove_root()
            if self._links is not None:
                self._links.close()
        finally:
            self._netlink.close()

    @property
    def _hooks(self) -> list[messages.Hook]:
        """The hooks of all filters, those at links last."""
        if self._links is None:
            return [self._out]
        into = self._links.into
        return [self._out, *([] if into is None else [into]), *self._links.shared]

    def _program_all(self, hook: messages.Hook, rules: Sequence[Rule]) -> None:
        for rule in rules:
            key = hook.interface, hook.parent, rule.key
            if self._programmed.get(key) != rule:
                self._program(hook, rule)
                self._programmed[key] = rule

    def _program(self, hook: messages.Hook, rule: Rule) -> None:
        index = hook.interface
        match rule:
            case DelayClass():
                self._ask(messages.htb_class(index, rule), RTM_NEWTCLASS, NEW, "a class")
                self._ask(self._leaf(index, rule, self._seed), RTM_NEWQDISC, NEW, "sch_netem")
            case Share():
                assert self._links is not None
                self._links.add_share(index, rule)
            case Table():
                self._ask(messages.hash_table(rule, hook), RTM_NEWTFILTER, NEW, "cls_u32")
            case Filter():
                what = "act_mirred" if hook.through and rule.link is None else "a filter"
                self._ask(messages.u32_filter(rule, hook), RTM_NEWTFILTER, NEW_OR_CHANGED, what)

    def _put_root(self) -> None:
        put_own(self._netlink, messages.root(self._interface), "sch_htb", "a root")

    def _remove_root(self) -> None:
        remove(self._netlink, messages.root_named(self._interface), RTM_DELQDISC, "sch_htb")

    def _ask(self, message: nlmsg, kind: int, flags: int, what: str) -> None:
        ask(self._netlink, message, kind, flags, what)


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
