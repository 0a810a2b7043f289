"""Addresses to listen on: `10.0.0.1:7000`, `[fd00::1]:7000`, or `*:7000` for all interfaces.

A pod is told its address by Kubernetes, which writes IPv6 without brackets: `fd00::1:7000` is read, too.
"""

from __future__ import annotations

from emulator.network.loopback import bracketed

ALL = "*"
"""The host that stands for all interfaces, of IPv4 and IPv6 as far as the machine has them."""
_LAST_PORT = 65535


def host_and_port(address: str) -> tuple[str, int]:
    """Return the host without brackets, and the port.

    Raises ValueError if the address is none.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or len(port) > 5 or int(port) > _LAST_PORT:
        raise ValueError(f"{address!r} is not an address to listen on, such as 127.0.0.1:9100")
    return host.removeprefix("[").removesuffix("]"), int(port)


def for_grpc(address: str) -> str:
    """Return an address as gRPC reads it: IPv6 in brackets, and `[::]` for all interfaces.

    gRPC takes `[::]` for all interfaces also on a machine with IPv4 alone. An address that is none stays as
    it is, and the server that is to listen on it refuses it.
    """
    host, separator, port = address.rpartition(":")
    return f"[::]:{port}" if host == ALL else f"{bracketed(host)}{separator}{port}"
