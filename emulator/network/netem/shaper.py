"""Delays what leaves this network namespace, by its destination, with the kernel's netem."""

from __future__ import annotations

import asyncio
import errno
import os
import platform
import socket
from collections.abc import Callable

from pyroute2 import AsyncIPRoute
from pyroute2.netlink import (
    NLM_F_ACK,
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    NLM_F_REQUEST,
    NetlinkError,
    nlmsg,
)
from pyroute2.netlink.rtnl import (
    RTM_DELQDISC,
    RTM_DELTFILTER,
    RTM_NEWQDISC,
    RTM_NEWTCLASS,
    RTM_NEWTFILTER,
)

from emulator.network.netem import messages
from emulator.network.netem.rules import QUANTUM, DelayClass, Destinations, Filter, Rule, Table

Leaf = Callable[[int, DelayClass, int], nlmsg]
"""The queue of a class: from the interface's index, the class and a seed."""

_NEW = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
_NEW_OR_CHANGED = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE
_GONE = NLM_F_REQUEST | NLM_F_ACK
_LOOPBACK = 1
"""The index of `lo` in every network namespace."""


class NetemUnavailable(Exception):
    """The kernel, or what this process may do, has no room for netem; the message says which."""


async def why_unavailable() -> str | None:
    """Why this process cannot delay packets by netem here, or None if it can. Changes nothing.

    It asks for queues without their options, on the loopback interface. The kernel refuses that at any
    rate, and by its error tells whether the permission, the kind of queue or only the options are missing.
    """
    try:
        async with AsyncIPRoute() as route:
            for kind in ("htb", "netem"):
                try:
                    await _request(route, messages.probe(kind, _LOOPBACK), RTM_NEWQDISC, _NEW)
                except NetlinkError as refusal:
                    if refusal.code != errno.EINVAL:
                        return _reason(refusal, f"sch_{kind}")
    except OSError as failure:
        return f"there is no netlink here: {failure.strerror or failure}"
    return None


class Netem:
    """One interface's delays. Opened with `open`, closed with `close`; an async context manager.

    Each destination's packets wait in the class whose delay is nearest to what was asked; all other
    packets pass at once. Only what leaves is delayed: when both ends do so, a round trip takes twice the
    one-way delay. Not for several tasks that name one address at the same time with different delays.
    """

    def __init__(
        self, route: AsyncIPRoute, interface: int, seed: int, quantum: float, leaf: Leaf = messages.netem_leaf
    ) -> None:
        self._route = route
        self._interface = interface
        self._seed = seed
        self._leaf = leaf
        self._destinations = Destinations(quantum)
        self._programmed: dict[tuple[str, int], Rule] = {}
        self._lock = asyncio.Lock()

    @classmethod
    async def open(
        cls,
        interface: str | None = None,
        *,
        seed: int = 0,
        quantum: float = QUANTUM,
        namespace: str | None = None,
        leaf: Leaf = messages.netem_leaf,
    ) -> Netem:
        """Put an HTB at the root of an interface, by default that of the default route.

        What an earlier process left there of the same kind is removed. `seed` starts the kernel's own
        random numbers (6.6 and later), `quantum` is the step between delays in seconds, `namespace` a
        named network namespace instead of the process's own. Raises NetemUnavailable.
        """
        try:
            route = AsyncIPRoute(netns=namespace, flags=0)
        except OSError as failure:
            raise NetemUnavailable(f"there is no netlink here: {failure.strerror or failure}") from failure
        try:
            netem = cls(route, await _find_interface(route, interface), seed, quantum, leaf)
            await netem._remove_root()
            await netem._put_root()
        except BaseException:
            route.close()
            raise
        return netem

    async def __aenter__(self) -> Netem:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def delay_to(self, address: str, seconds: float) -> None:
        """Delay packets to an IPv4 address by `seconds`, from now on; what was asked before is replaced.

        Packets on their way keep their delay. Asking again for the same costs no system call. Raises
        ValueError as `Destinations.rules_to` does, NetemUnavailable if the kernel refuses.
        """
        async with self._lock:
            if self._destinations.minor(seconds) == 0:
                await self._forget(address)
                return
            for rule in self._destinations.rules_to(address, seconds):
                if self._programmed.get(rule.key) != rule:
                    await self._program(rule)
                    self._programmed[rule.key] = rule

    async def forget(self, address: str) -> None:
        """Delay packets to this address no more. Does nothing for one that has no delay."""
        async with self._lock:
            await self._forget(address)

    async def close(self) -> None:
        """Remove all, with the packets that wait. A missing interface is not an error."""
        try:
            await self._remove_root()
        finally:
            self._route.close()

    async def _forget(self, address: str) -> None:
        handle = self._destinations.forget(address)
        if self._programmed.pop(("filter", handle or 0), None) is not None:
            await self._ask(messages.filter_named(self._interface, handle or 0), RTM_DELTFILTER, _GONE)

    async def _program(self, rule: Rule) -> None:
        # What another call began and was cancelled in may be there already, so that is no error.
        index = self._interface
        match rule:
            case DelayClass():
                await self._ask(messages.htb_class(index, rule), RTM_NEWTCLASS, _NEW)
                await self._ask(self._leaf(index, rule, self._seed), RTM_NEWQDISC, _NEW, "sch_netem")
            case Table():
                await self._ask(messages.hash_table(index, rule), RTM_NEWTFILTER, _NEW, "cls_u32")
            case Filter():
                await self._ask(messages.u32_filter(index, rule), RTM_NEWTFILTER, _NEW_OR_CHANGED)

    async def _put_root(self) -> None:
        try:
            await _request(self._route, messages.root(self._interface), RTM_NEWQDISC, _NEW)
        except NetlinkError as refusal:
            if refusal.code == errno.EEXIST:
                raise NetemUnavailable("the interface has a root qdisc of somebody else") from refusal
            raise NetemUnavailable(_reason(refusal, "sch_htb")) from refusal

    async def _remove_root(self) -> None:
        try:
            await _request(self._route, messages.root_named(self._interface), RTM_DELQDISC, _GONE)
        except NetlinkError as refusal:
            if refusal.code not in (errno.ENOENT, errno.EINVAL, errno.ENODEV):
                raise NetemUnavailable(_reason(refusal, "sch_htb")) from refusal

    async def _ask(self, message: nlmsg, kind: int, flags: int, module: str = "the rule") -> None:
        try:
            await _request(self._route, message, kind, flags)
        except NetlinkError as refusal:
            if not (refusal.code == errno.EEXIST and flags & NLM_F_EXCL):
                raise NetemUnavailable(_reason(refusal, module)) from refusal


async def _request(route: AsyncIPRoute, message: nlmsg, kind: int, flags: int) -> None:
    async for _ in await route.nlm_request(message, msg_type=kind, msg_flags=flags):
        pass


async def _find_interface(route: AsyncIPRoute, name: str | None) -> int:
    if name is not None:
        found = await route.link_lookup(ifname=name)
        if not found:
            raise NetemUnavailable(f"there is no interface {name!r}")
        return int(found[0])
    best: tuple[int, int] | None = None
    async for answer in await route.get_default_routes(family=socket.AF_INET):
        index = answer.get_attr("RTA_OIF")
        if index is not None:
            metric = answer.get_attr("RTA_PRIORITY") or 0
            best = min(best or (metric, index), (metric, index))
    if best is None:
        raise NetemUnavailable("there is no default route by which to choose the interface; name it")
    return best[1]


def _reason(refusal: NetlinkError, module: str) -> str:
    match refusal.code:
        case errno.EPERM | errno.EACCES:
            return "this process may not change its network namespace: it has no capability NET_ADMIN"
        case errno.ENOENT if module.startswith(("sch_", "cls_")):
            return f"the kernel {platform.release()} has no {module}"
        case code:
            return f"the kernel {platform.release()} refuses {module}: {os.strerror(code)}"
