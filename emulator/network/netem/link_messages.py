"""Messages about the devices that limit rates (linux/if_link.h, linux/pkt_sched.h, linux/gen_stats.h)."""

from __future__ import annotations

from typing import Any

from pyroute2.netlink import nla, nlmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg

from emulator.network.netem.messages import (
    HTB,
    INGRESS,
    INGRESS_PARENT,
    ROOT,
    BareRequest,
    Request,
    message,
    rate_class,
    root,
)

CLASS = 1
"""The number of the class of a device that has the rate of the link."""
_CUTTER = 2 << 16
_NO_LIMIT = 1 << 40
"""The rate of the cutter in bytes a second, of which a packet takes less than a nanosecond."""
_ETHERNET = 1
_BURST_NS = 2_000_000
"""The time for which a link that was idle, or whose timer was late, may make up."""
_UP = 1


class TbfRequest(Request):
    nla_map = ((1, "TCA_KIND", "asciiz"), (2, "TCA_OPTIONS", "options"))

    class options(nla):  # type: ignore[misc]
        nla_map = (
            (1, "TCA_TBF_PARMS", "parms"),
            (4, "TCA_TBF_RATE64", "uint64"),
            (6, "TCA_TBF_BURST", "uint32"),
        )

        class parms(nla):  # type: ignore[misc]
            fields = (
                ("cell_log", "B"),
                ("link_layer", "B"),
                ("overhead", "H"),
                ("cell_align", "h"),
                ("least", "H"),
                ("rate", "I"),
                ("peak_cell", "Q"),
                ("peak_rate", "I"),
                ("limit", "I"),
                ("buffer", "I"),
                ("mtu", "I"),
            )


class FifoRequest(Request):
    nla_map = ((1, "TCA_KIND", "asciiz"), (2, "TCA_OPTIONS", "uint32"))


class Counts(Request):
    """A qdisc with what it counts."""

    nla_map = ((1, "TCA_KIND", "asciiz"), (7, "TCA_STATS2", "stats"))

    class stats(nla):  # type: ignore[misc]
        nla_map = ((1, "TCA_STATS_BASIC", "basic"), (3, "TCA_STATS_QUEUE", "queue"))

        class basic(nla):  # type: ignore[misc]
            fields = (("bytes", "Q"), ("packets", "I"))

        class queue(nla):  # type: ignore[misc]
            fields = (
                ("waiting", "I"),
                ("backlog", "I"),
                ("drops", "I"),
                ("requeues", "I"),
                ("over_limits", "I"),
            )


def device(name: str) -> nlmsg:
    """Return an IFB device, which hands packets back to where they were taken from."""
    made = ifinfmsg()
    kind = {"attrs": [("IFLA_INFO_KIND", "ifb")]}
    made["attrs"] = [("IFLA_IFNAME", name), ("IFLA_LINKINFO", kind)]
    return made


def device_up(index: int) -> nlmsg:
    return _device(index, flags=_UP, change=_UP)


def device_named(index: int) -> nlmsg:
    """Return the fields that name a device, to delete it."""
    return _device(index)


def cutter(index: int, largest: int) -> nlmsg:
    """Return the root of a device, which cuts what is longer than `largest` bytes before its link takes it.

    TCP hands over packets of 64 kB where the interface cuts them, which HTB does not. A token bucket does,
    whose own rate is no limit.
    """
    parms = {"link_layer": _ETHERNET, "rate": 0xFFFFFFFF}
    options: dict[str, Any] = {
        "attrs": [("TCA_TBF_PARMS", parms), ("TCA_TBF_RATE64", _NO_LIMIT), ("TCA_TBF_BURST", largest)]
    }
    return message(TbfRequest, index, "tbf", _CUTTER, ROOT, options)


def link(index: int, default: int) -> nlmsg:
    """Return the HTB in the cutter, with the class of packets that no filter finds, 0 for none."""
    return root(index, _CUTTER | 1, default)


def link_class(index: int, rate: int, largest: int) -> nlmsg:
    """Return the class of a link of `rate` bytes a second."""
    return rate_class(index, CLASS, HTB, rate, rate, _BURST_NS, largest)


def share_class(index: int, minor: int, rate: int, largest: int) -> nlmsg:
    """Return the class of one peer on a link that peers share. It has no rate of its own, but borrows."""
    return rate_class(index, minor, HTB | CLASS, 1, rate, _BURST_NS, largest)


def link_queue(index: int, minor: int, room: int) -> nlmsg:
    """Return the queue of a class, first in, first out, which holds `room` bytes."""
    made = message(FifoRequest, index, "bfifo", minor + 2 << 16, HTB | minor)
    made["attrs"].append(("TCA_OPTIONS", room))
    return made


def link_counts(index: int) -> nlmsg:
    """Return the fields that name the root of a device, to ask for what it has counted."""
    return message(Counts, index, "tbf", _CUTTER, ROOT)


def ingress(index: int) -> nlmsg:
    """Return the queue that packets pass which come in."""
    return message(BareRequest, index, "ingress", INGRESS, INGRESS_PARENT)


def _device(index: int, flags: int = 0, change: int = 0) -> nlmsg:
    made = ifinfmsg()
    made.update(index=index, flags=flags, change=change)
    return made
