"""The names of the pods that hosts run in."""

from __future__ import annotations

from collections.abc import Callable

_PODS_IN_SET = 1000
"""The most pods of a StatefulSet, as the chart makes them."""


def pod_namer(prefix: str) -> Callable[[str], str]:
    """Return a function from `host-<n>` to the name of its pod.

    The stateful sets `<prefix>-0`, `<prefix>-1`, ... have 1,000 pods each.
    """

    def name(host: str) -> str:
        kind, _, number = host.rpartition("-")
        if kind != "host" or not number.isdecimal():
            raise ValueError(f"{host!r} is not the name of a host in a pod, such as host-17")
        return f"{prefix}-{int(number) // _PODS_IN_SET}-{int(number) % _PODS_IN_SET}"

    return name
