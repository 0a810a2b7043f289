"""Requests that the kernel may refuse, and the reasons in words."""

from __future__ import annotations

import errno
import os
import platform

from pyroute2.netlink import nlmsg
from pyroute2.netlink.rtnl import RTM_NEWQDISC

from emulator.network.netem.netlink import GONE, NEW, Netlink


class NetemUnavailable(Exception):
    """The kernel lacks something, or this process may not use it; the message says which."""


def ask(netlink: Netlink, message: nlmsg, kind: int, flags: int, what: str) -> None:
    """Have the kernel do what a message says; `what` names it. Raises NetemUnavailable."""
    try:
        netlink.request(message, kind, flags)
    except OSError as refusal:
        # A part of a class stays if the kernel refused the class's queue before.
        if not (flags == NEW and refusal.errno == errno.EEXIST):
            raise NetemUnavailable(reason(refusal, what)) from refusal


def put_own(netlink: Netlink, message: nlmsg, what: str, place: str) -> None:
    """Put a qdisc where nobody else's may be. Raises NetemUnavailable, also if the `place` is taken."""
    try:
        netlink.request(message, RTM_NEWQDISC, NEW)
    except OSError as refusal:
        if refusal.errno == errno.EEXIST:
            raise NetemUnavailable(f"the interface has {place} qdisc of somebody else") from refusal
        raise NetemUnavailable(reason(refusal, what)) from refusal


def remove(netlink: Netlink, message: nlmsg, kind: int, what: str) -> None:
    """Remove what may be gone already. Raises NetemUnavailable."""
    try:
        netlink.request(message, kind, GONE)
    except OSError as refusal:
        if refusal.errno not in (errno.ENOENT, errno.EINVAL, errno.ENODEV):
            raise NetemUnavailable(reason(refusal, what)) from refusal


def reason(refusal: OSError, what: str) -> str:
    """Return why the kernel refused `what`, such as "sch_netem"."""
    match refusal.errno:
        case errno.EPERM | errno.EACCES:
            return "this process may not change its network namespace: it has no capability NET_ADMIN"
        case errno.ENOENT if what.startswith(("sch_", "cls_", "act_")):
            return f"the kernel {platform.release()} has no {what}"
        case errno.EOPNOTSUPP if what == "ifb":
            return f"the kernel {platform.release()} has no {what}"
        case code:
            return f"the kernel {platform.release()} refuses {what}: {os.strerror(code or 0)}"


def no_netlink(failure: OSError) -> str:
    """Return why there is no netlink."""
    return f"there is no netlink here: {failure.strerror or failure}"
