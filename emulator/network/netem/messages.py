"""Traffic-control rules as netlink messages (linux/pkt_sched.h, linux/pkt_cls.h).

pyroute2's own u32 has neither hash tables nor links, and its netem neither nanoseconds nor a seed, so the
options are declared here.
"""

from __future__ import annotations

import socket
from typing import Any, NamedTuple

from pyroute2.netlink import nla, nlmsg

from emulator.network.netem.rules import BUCKETS, DelayClass, Filter, Table

ROOT = 0xFFFFFFFF
HTB = 1 << 16
"""The handle of the root qdisc, 1:0; class n is 1:n."""
PRIORITY = 1
_IPV4_ONLY = PRIORITY << 16 | socket.htons(0x0800)
INGRESS = 0xFFFF0000
"""The handle of the queue that packets pass which come in; it has filters and holds nothing."""
INGRESS_PARENT = 0xFFFFFFF1
SOURCE = 12
"""The bytes from the start of an IPv4 header to the source address."""
DESTINATION = 16
"""The bytes from the start of an IPv4 header to the destination address."""
_TERMINAL = 1
_CLASS_RATE = 1_250_000_000
"""The rate of each class in bytes a second, which is no limit; HTB only wants a number."""
_CLASS_BURST = 1 << 20
_CLASS_QUANTUM = 60_000
_TICK_NS = 64
_WORD = 0xFFFFFFFF
_REDIRECT = 1
_STOLEN = 4


class Hook(NamedTuple):
    """The place of filters: the queue that they belong to, and what they do with packets."""

    interface: int
    """The index of the interface that has the queue."""
    parent: int
    address: int
    """The place of the address that they compare: `SOURCE` or `DESTINATION`."""
    through: int = 0
    """The index of the device through which packets go first that they find, 0 for none. Such a device hands
    packets back, and then the filters let them pass and only tell their class."""


class Request(nlmsg):  # type: ignore[misc]
    """A qdisc, class or filter of one interface."""

    fields = (
        ("family", "B"),
        ("pad1", "B"),
        ("pad2", "H"),
        ("index", "i"),
        ("handle", "I"),
        ("parent", "I"),
        ("info", "I"),
    )


class BareRequest(Request):
    """A request that names a kind and gives no options, which no qdisc accepts."""

    nla_map = ((1, "TCA_KIND", "asciiz"),)


class HtbRequest(Request):
    nla_map = ((1, "TCA_KIND", "asciiz"), (2, "TCA_OPTIONS", "options"))

    class options(nla):  # type: ignore[misc]
        nla_map = (
            (1, "TCA_HTB_PARMS", "parms"),
            (2, "TCA_HTB_INIT", "init"),
            (6, "TCA_HTB_RATE64", "uint64"),
            (7, "TCA_HTB_CEIL64", "uint64"),
        )

        class init(nla):  # type: ignore[misc]
            fields = (
                ("version", "I"),
                ("rate2quantum", "I"),
                ("default", "I"),
                ("debug", "I"),
                ("direct_packets", "I"),
            )

        class parms(nla):  # type: ignore[misc]
            fields = (
                ("rate_cell", "Q"),
                ("rate", "I"),
                ("ceil_cell", "Q"),
                ("ceil", "I"),
                ("buffer", "I"),
                ("cbuffer", "I"),
                ("quantum", "I"),
                ("level", "I"),
                ("prio", "I"),
            )


class NetemRequest(Request):
    nla_map = ((1, "TCA_KIND", "asciiz"), (2, "TCA_OPTIONS", "options"))

    class options(nla):  # type: ignore[misc]
        fields = (
            ("latency", "I"),
            ("limit", "I"),
            ("loss", "I"),
            ("gap", "I"),
            ("duplicate", "I"),
            ("jitter", "I"),
        )
        nla_map = ((10, "TCA_NETEM_LATENCY64", "uint64"), (14, "TCA_NETEM_PRNG_SEED", "uint64"))


class U32Request(Request):
    nla_map = ((1, "TCA_KIND", "asciiz"), (2, "TCA_OPTIONS", "options"))

    class options(nla):  # type: ignore[misc]
        nla_map = (
            (1, "TCA_U32_CLASSID", "uint32"),
            (2, "TCA_U32_HASH", "uint32"),
            (3, "TCA_U32_LINK", "uint32"),
            (4, "TCA_U32_DIVISOR", "uint32"),
            (5, "TCA_U32_SEL", "selector"),
            (7, "TCA_U32_ACT", "actions"),
        )

        class actions(nla):  # type: ignore[misc]
            """The only action of a filter."""

            nla_map = ((1, "TCA_ACT_PRIO_1", "action"),)

            class action(nla):  # type: ignore[misc]
                nla_map = ((1, "TCA_ACT_KIND", "asciiz"), (2, "TCA_ACT_OPTIONS", "mirred"))

                class mirred(nla):  # type: ignore[misc]
                    nla_map = ((2, "TCA_MIRRED_PARMS", "parms"),)

                    class parms(nla):  # type: ignore[misc]
                        fields = (
                            ("index", "I"),
                            ("capabilities", "I"),
                            ("action", "i"),
                            ("references", "i"),
                            ("bindings", "i"),
                            ("direction", "i"),
                            ("interface", "I"),
                        )

        class selector(nla):  # type: ignore[misc]
            """A selector with room for one key, which is all that an address needs."""

            fields = (
                ("flags", "B"),
                ("offshift", "B"),
                ("nkeys", "B"),
                ("pad", "B"),
                ("offmask", ">H"),
                ("off", "H"),
                ("offoff", "h"),
                ("hoff", "h"),
                ("hmask", ">I"),
                ("key_mask", ">I"),
                ("key_value", ">I"),
                ("key_offset", "i"),
                ("key_offset_mask", "i"),
            )


def probe(kind: str, index: int) -> nlmsg:
    """Return a root qdisc without options: the kernel refuses it, differently if it lacks the kind."""
    return message(BareRequest, index, kind, handle=0, parent=ROOT)


def root(index: int, parent: int = ROOT, default: int = 0) -> nlmsg:
    """Return the HTB itself. A packet that has no class is in the default one, or passes at once."""
    init = {"version": 3, "rate2quantum": 10, "default": default, "debug": 0, "direct_packets": 0}
    return message(HtbRequest, index, "htb", HTB, parent, {"attrs": [("TCA_HTB_INIT", init)]})


def htb_class(index: int, rule: DelayClass) -> nlmsg:
    rate, burst_ns = _CLASS_RATE, _CLASS_BURST * 1_000_000_000 // _CLASS_RATE
    return rate_class(index, rule.minor, HTB, rate, rate, burst_ns, _CLASS_QUANTUM)


def rate_class(
    index: int, minor: int, parent: int, rate: int, ceiling: int, burst_ns: int, quantum: int
) -> nlmsg:
    """Return a class that sends `rate` bytes a second, or up to `ceiling` where its parent can, and at once
    what it could have sent in `burst_ns` before. Classes of a parent send `quantum` bytes in turn."""
    burst = burst_ns // _TICK_NS
    parms = {
        "rate_cell": 0,
        "rate": min(rate, _WORD),
        "ceil_cell": 0,
        "ceil": min(ceiling, _WORD),
        "buffer": burst,
        "cbuffer": burst,
        "quantum": quantum,
        "level": 0,
        "prio": 0,
    }
    attributes: list[tuple[str, Any]] = [("TCA_HTB_PARMS", parms)]
    attributes += [("TCA_HTB_RATE64", rate)] if rate > _WORD else []
    attributes += [("TCA_HTB_CEIL64", ceiling)] if ceiling > _WORD else []
    return message(HtbRequest, index, "htb", HTB | minor, parent, {"attrs": attributes})


def netem_leaf(index: int, rule: DelayClass, seed: int) -> nlmsg:
    """Return the netem queue of a class. Kernels before 6.6 do not read the seed."""
    options = {
        "latency": min(rule.delay_ns // _TICK_NS, 0xFFFFFFFF),
        "limit": rule.limit,
        "loss": 0,
        "gap": 0,
        "duplicate": 0,
        "jitter": 0,
        "attrs": [("TCA_NETEM_LATENCY64", rule.delay_ns), ("TCA_NETEM_PRNG_SEED", seed)],
    }
    return message(NetemRequest, index, "netem", (rule.minor + 1) << 16, HTB | rule.minor, options)


def plain_leaf(index: int, rule: DelayClass, seed: int) -> nlmsg:
    """Return a queue without delay, which every kernel has: for tests and measurements of the rules alone."""
    return message(BareRequest, index, "pfifo", (rule.minor + 1) << 16, HTB | rule.minor)


def hash_table(rule: Table, hook: Hook) -> nlmsg:
    options = {"attrs": [("TCA_U32_DIVISOR", BUCKETS)]}
    return message(U32Request, hook.interface, "u32", rule.handle, hook.parent, options, _IPV4_ONLY)


def u32_filter(rule: Filter, hook: Hook) -> nlmsg:
    selector = {
        "flags": _TERMINAL if rule.link is None else 0,
        "nkeys": 1,
        "hoff": hook.address,
        "hmask": rule.hash_mask,
        "key_mask": rule.mask,
        "key_value": rule.value,
        "key_offset": hook.address,
    }
    attributes: list[tuple[str, Any]] = [("TCA_U32_HASH", rule.bucket), ("TCA_U32_SEL", selector)]
    if rule.target is not None:
        attributes.append(("TCA_U32_CLASSID", HTB | rule.target))
    if rule.link is not None:
        attributes.append(("TCA_U32_LINK", rule.link << 20))
    elif hook.through:
        attributes.append(("TCA_U32_ACT", _redirect(hook.through)))
    options = {"attrs": attributes}
    return message(U32Request, hook.interface, "u32", rule.handle, hook.parent, options, _IPV4_ONLY)


def filter_named(handle: int, hook: Hook) -> nlmsg:
    """Return the fields that name a filter, to delete it."""
    return message(BareRequest, hook.interface, "u32", handle, hook.parent, info=_IPV4_ONLY)


def _redirect(device: int) -> dict[str, Any]:
    """Return the action that sends packets through a device. All filters share it, by the device's index."""
    parms = {"index": device, "action": _STOLEN, "direction": _REDIRECT, "interface": device}
    options = {"attrs": [("TCA_MIRRED_PARMS", parms)]}
    action = {"attrs": [("TCA_ACT_KIND", "mirred"), ("TCA_ACT_OPTIONS", options)]}
    return {"attrs": [("TCA_ACT_PRIO_1", action)]}


def root_named(index: int) -> nlmsg:
    """Return the fields that name the HTB, to delete it with all that it holds."""
    return message(BareRequest, index, "htb", HTB, ROOT)


def message(
    form: type[Request],
    index: int,
    kind: str,
    handle: int,
    parent: int,
    options: dict[str, Any] | None = None,
    info: int = 0,
) -> nlmsg:
    """Return a request of this form about a qdisc, class or filter of this kind."""
    made = form()
    made.update(family=socket.AF_UNSPEC, index=index, handle=handle, parent=parent, info=info)
    made["attrs"] = [("TCA_KIND", kind)]
    if options is not None:
        made["attrs"].append(("TCA_OPTIONS", options))
    return made
