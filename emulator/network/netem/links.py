"""The up and the down link of this network namespace, as devices of the kernel that limit rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyroute2.netlink import NLM_F_ACK, NLM_F_ECHO, NLM_F_REQUEST, nlmsg
from pyroute2.netlink.rtnl import (
    RTM_DELLINK,
    RTM_DELQDISC,
    RTM_GETLINK,
    RTM_GETQDISC,
    RTM_NEWLINK,
    RTM_NEWQDISC,
    RTM_NEWTCLASS,
)
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg

from emulator.network.netem import link_messages, messages
from emulator.network.netem.netlink import GET, GONE, NEW, Netlink
from emulator.network.netem.refusals import ask, put_own, remove
from emulator.network.netem.rules import Share

_NAMES = ("trellis-up", "trellis-down")
_ETHERNET_HEADER = 18
"""The bytes of an Ethernet header, with a tag."""


class LinkLimit(NamedTuple):
    """The limit of one link: bytes a second, and the bytes that may wait."""

    rate: int
    room: int


class LinkCounts(NamedTuple):
    """The counters of a link: what it has carried, in packets with all their headers, and `waiting` bytes."""

    bytes: int
    packets: int
    drops: int
    waiting: int


class KernelLinks:
    """The links of one interface. Packets go through them that a filter sends there."""

    def __init__(
        self, netlink: Netlink, interface: int, up: LinkLimit | None, down: LinkLimit | None, fair: bool
    ) -> None:
        """Make a link for each limit, and the hooks of filters. Peers at the other end share `fair` links.

        Raises NetemUnavailable; nothing stays then.
        """
        self._netlink = netlink
        self._interface = interface
        self._fair = fair
        self._largest = self._mtu() + _ETHERNET_HEADER
        self._limits: dict[int, LinkLimit] = {}
        """The limits by the index of the device."""
        self._devices = [0, 0]
        """The indices of the devices of the up and the down link, 0 for one that has no limit."""
        self._has_ingress = False
        try:
            if down is not None:
                self._put_ingress()
            for way, limit in enumerate((up, down)):
                if limit is not None:
                    self._devices[way] = self._make(_NAMES[way], limit)
        except BaseException:
            self.close()
            raise
        self.out = messages.Hook(interface, messages.HTB, messages.DESTINATION, self._devices[0])
        """The hook of filters of what goes out."""
        self.into: messages.Hook | None = None
        """The hook of filters of what comes in, None if that has no limit."""
        if down is not None:
            self.into = messages.Hook(interface, messages.INGRESS, messages.SOURCE, self._devices[1])
        addresses = zip(self._devices, (messages.DESTINATION, messages.SOURCE), strict=True)
        self.shared = [messages.Hook(each, messages.HTB, at) for each, at in addresses if each and fair]
        """The hooks of filters at links, which tell whose share a packet is of; none if all is one queue."""

    def counts(self) -> list[LinkCounts | None]:
        """Return the counts of the up and the down link, None for one that has no limit.

        Raises OSError if a device is gone.
        """
        return [self._counts(device) if device else None for device in self._devices]

    def add_share(self, index: int, share: Share) -> None:
        """Add the class of a peer to a link that peers share, by the index of its device. Raises
        NetemUnavailable."""
        made = link_messages.share_class(index, share.minor, self._limits[index].rate, self._largest)
        self._ask(made, RTM_NEWTCLASS, "a class")
        self._put_queue(index, share.minor)

    def close(self) -> None:
        """Remove the links with the packets that wait. An interface that is gone is no error."""
        _remove(self._netlink, self._interface, _devices(self._netlink), ingress=self._has_ingress)

    def _make(self, name: str, limit: LinkLimit) -> int:
        one_queue = 0 if self._fair else link_messages.CLASS
        self._ask(link_messages.device(name), RTM_NEWLINK, "ifb")
        index = _devices(self._netlink)[name]
        self._limits[index] = limit
        self._ask(link_messages.cutter(index, self._largest), RTM_NEWQDISC, "sch_tbf")
        self._ask(link_messages.link(index, one_queue), RTM_NEWQDISC, "sch_htb")
        self._ask(link_messages.link_class(index, limit.rate, self._largest), RTM_NEWTCLASS, "a class")
        if one_queue:
            self._put_queue(index, one_queue)
        ask(self._netlink, link_messages.device_up(index), RTM_NEWLINK, GONE, "ifb")
        return index

    def _put_queue(self, index: int, minor: int) -> None:
        room = max(self._limits[index].room, self._largest)
        self._ask(link_messages.link_queue(index, minor, room), RTM_NEWQDISC, "sch_bfifo")

    def _put_ingress(self) -> None:
        put_own(self._netlink, link_messages.ingress(self._interface), "sch_ingress", "an ingress")
        self._has_ingress = True

    def _mtu(self) -> int:
        links = self._netlink.request(ifinfmsg(), RTM_GETLINK, GET)
        return next(int(link.get_attr("IFLA_MTU")) for link in links if link["index"] == self._interface)

    def _counts(self, device: int) -> LinkCounts:
        flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO
        (answer,) = self._netlink.request(link_messages.link_counts(device), RTM_GETQDISC, flags)
        stats = answer.get_attr("TCA_STATS2")
        basic, queue = stats.get_attr("TCA_STATS_BASIC"), stats.get_attr("TCA_STATS_QUEUE")
        return LinkCounts(basic["bytes"], basic["packets"], queue["drops"], queue["backlog"])

    def _ask(self, message: nlmsg, kind: int, what: str) -> None:
        ask(self._netlink, message, kind, NEW, what)


def remove_earlier_links(netlink: Netlink, interface: int) -> None:
    """Remove the links that an earlier process left. Raises NetemUnavailable."""
    devices = _devices(netlink)
    _remove(netlink, interface, devices, ingress=_NAMES[1] in devices)


def _remove(netlink: Netlink, interface: int, devices: Mapping[str, int], *, ingress: bool) -> None:
    """Remove the devices of links, after the queue of what comes in if that is theirs."""
    removed = [(link_messages.device_named(devices[name]), RTM_DELLINK) for name in _NAMES if name in devices]
    if ingress:
        removed.insert(0, (link_messages.ingress(interface), RTM_DELQDISC))
    for message, kind in removed:
        remove(netlink, message, kind, "the end of a link")


def _devices(netlink: Netlink) -> dict[str, int]:
    """Return the indices of the interfaces of this namespace by name."""
    links = netlink.request(ifinfmsg(), RTM_GETLINK, GET)
    return {link.get_attr("IFLA_IFNAME"): int(link["index"]) for link in links}
