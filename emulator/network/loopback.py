"""The loopback address of this machine, which has IPv4, IPv6, or both."""

from __future__ import annotations

import errno
import socket
from functools import cache

_FOUR, _SIX = "127.0.0.1", "::1"


@cache
def loopback() -> str:
    """Return 127.0.0.1 where a program can listen on it and reach it, else ::1.

    Raises OSError if neither can be used, as on a machine whose interface `lo` is down.
    """
    for address in (_FOUR, _SIX):
        try:
            with socket.socket(family_of(address), socket.SOCK_DGRAM) as trial:
                trial.bind((address, 0))
                trial.connect(trial.getsockname())  # 127.0.0.1 can be bound where it leads nowhere
        except OSError:
            continue
        return address
    raise OSError(
        errno.EADDRNOTAVAIL,
        f"this machine has no loopback address: neither {_FOUR} nor {_SIX} can be used. "
        "Turn the interface on: ip link set lo up",
    )


def is_six() -> bool:
    """Return whether this machine has the loopback address of IPv6 alone."""
    return loopback() == _SIX


def bracketed(host: str) -> str:
    """Return a host as it stands before a port and in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def any_port() -> str:
    """Return a loopback address to listen on, at a free port, as gRPC writes it."""
    return f"{bracketed(loopback())}:0"


def family_of(host: str) -> socket.AddressFamily:
    """Return the family of sockets for an address without brackets, or for a name (IPv4)."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET
