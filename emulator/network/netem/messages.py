"""Traffic-control rules as netlink messages (linux/pkt_sched.h, linux/pkt_cls.h).

pyroute2's own u32 has neither hash tables nor links, and its netem neither nanoseconds nor a seed, so the
options are declared here.
"""

from __future__ import annotations

import socket
from typing import Any

from pyroute2.netlink import nla, nlmsg

from emulator.network.netem.rules import BUCKETS, DelayClass, Filter, Table

ROOT = 0xFFFFFFFF
HTB = 1 << 16
"""The handle of the root qdisc, 1:0; class n is 1:n."""
PRIORITY = 1
_IPV4_ONLY = PRIORITY << 16 | socket.htons(0x0800)
_DESTINATION_OFFSET = 16
"""The bytes from the start of an IPv4 header to the destination address."""
_TERMINAL = 1
_CLASS_RATE = 1_250_000_000
"""The rate of each class in bytes a second, which is no limit; HTB only wants a number."""
_CLASS_BURST = 1 << 20
_CLASS_QUANTUM = 60_000
_TICK_NS = 64


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
        nla_map = ((1, "TCA_HTB_PARMS", "parms"), (2, "TCA_HTB_INIT", "init"))

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
    return _message(BareRequest, index, kind, handle=0, parent=ROOT)


def root(index: int) -> nlmsg:
    """Return the HTB itself. A packet that has no class passes at once."""
    init = {"version": 3, "rate2quantum": 10, "default": 0, "debug": 0, "direct_packets": 0}
    return _message(HtbRequest, index, "htb", HTB, ROOT, {"attrs": [("TCA_HTB_INIT", init)]})


def htb_class(index: int, rule: DelayClass) -> nlmsg:
    burst = _CLASS_BURST * 1_000_000_000 // _CLASS_RATE // _TICK_NS
    parms = {
        "rate_cell": 0,
        "rate": _CLASS_RATE,
        "ceil_cell": 0,
        "ceil": _CLASS_RATE,
        "buffer": burst,
        "cbuffer": burst,
        "quantum": _CLASS_QUANTUM,
        "level": 0,
        "prio": 0,
    }
    return _message(HtbRequest, index, "htb", HTB | rule.minor, HTB, {"attrs": [("TCA_HTB_PARMS", parms)]})


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
    return _message(NetemRequest, index, "netem", (rule.minor + 1) << 16, HTB | rule.minor, options)


def plain_leaf(index: int, rule: DelayClass, seed: int) -> nlmsg:
    """Return a queue without delay, which every kernel has: for tests and measurements of the rules alone."""
    return _message(BareRequest, index, "pfifo", (rule.minor + 1) << 16, HTB | rule.minor)


def hash_table(index: int, rule: Table) -> nlmsg:
    options = {"attrs": [("TCA_U32_DIVISOR", BUCKETS)]}
    return _message(U32Request, index, "u32", rule.handle, HTB, options, _IPV4_ONLY)


def u32_filter(index: int, rule: Filter) -> nlmsg:
    selector = {
        "flags": 0 if rule.target is None else _TERMINAL,
        "nkeys": 1,
        "hoff": _DESTINATION_OFFSET,
        "hmask": rule.hash_mask,
        "key_mask": rule.mask,
        "key_value": rule.value,
        "key_offset": _DESTINATION_OFFSET,
    }
    attributes: list[tuple[str, Any]] = [("TCA_U32_HASH", rule.bucket), ("TCA_U32_SEL", selector)]
    if rule.target is not None:
        attributes.append(("TCA_U32_CLASSID", HTB | rule.target))
    if rule.link is not None:
        attributes.append(("TCA_U32_LINK", rule.link << 20))
    return _message(U32Request, index, "u32", rule.handle, HTB, {"attrs": attributes}, _IPV4_ONLY)


def filter_named(index: int, handle: int) -> nlmsg:
    """Return the fields that name a filter, to delete it."""
    return _message(BareRequest, index, "u32", handle, HTB, info=_IPV4_ONLY)


def root_named(index: int) -> nlmsg:
    """Return the fields that name the HTB, to delete it with all that it holds."""
    return _message(BareRequest, index, "htb", HTB, ROOT)


def _message(
    form: type[Request],
    index: int,
    kind: str,
    handle: int,
    parent: int,
    options: dict[str, Any] | None = None,
    info: int = 0,
) -> nlmsg:
    message = form()
    message.update(family=socket.AF_UNSPEC, index=index, handle=handle, parent=parent, info=info)
    message["attrs"] = [("TCA_KIND", kind)]
    if options is not None:
        message["attrs"].append(("TCA_OPTIONS", options))
    return message
