"""The endings of hosts' programs in pods, as the cluster tells them.

The verdict names them, since a program that was killed for lack of memory cannot say so itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.pods.pod_names import pod_namer
from emulator.fleet.pods.pod_reading import in_cluster, read_pod

_ASKED = 10
"""The most pods that are asked for, which is the most hosts that a sentence of the verdict names."""
_OUT_OF_MEMORY = "OOMKilled"


def note_endings(coordinator: Coordinator, read: Callable[[str], Mapping[str, Any]] = read_pod) -> None:
    """Ask the cluster why hosts of a trial were lost or restarted, and note it with each host.

    Does nothing outside of a cluster. The reasons stay unknown if the API server does not answer.
    """
    release = os.environ.get("TRELLIS_RELEASE")
    if not release or not in_cluster() or coordinator.start_ns is None:
        return
    pod_of = pod_namer(f"{release}-peers")
    troubled = [m for m in coordinator.members.values() if m.lost or coordinator.restarts(m)]
    for member in troubled[:_ASKED]:
        try:
            member.ending = ending_of(read(pod_of(member.name)), coordinator.start_ns)
        except (OSError, ValueError, KeyError, TypeError) as error:
            member.ending = f"the cluster does not tell why: {error}"


def ending_of(pod: Mapping[str, Any], since_ns: int) -> str:
    """Return how the program in a pod ended last, "" if it did not end since `since_ns` (unix time).

    Raises KeyError, TypeError or ValueError for what is no pod.
    """
    if reason := pod["status"].get("reason"):
        return f"its pod was ended ({reason}: {pod['status'].get('message', 'nothing more is told')})"
    for container in pod["status"].get("containerStatuses") or ():
        states = (container.get("state") or {}, container.get("lastState") or {})
        ended = next((state["terminated"] for state in states if state.get("terminated")), None)
        if ended is None or _seconds(ended["finishedAt"]) < since_ns // 10**9:
            continue
        if ended.get("reason") == _OUT_OF_MEMORY:
            limit = _limit(pod, container["name"])
            return f"its program was killed for lack of memory ({_OUT_OF_MEMORY}){limit}"
        return f"its program ended with status {ended['exitCode']} ({ended.get('reason', 'no reason')})"
    return ""


def _seconds(time: str) -> float:
    """Return a time of the API, such as 2026-01-31T12:00:00Z, as a unix time."""
    return datetime.fromisoformat(time).astimezone(UTC).timestamp()


def _limit(pod: Mapping[str, Any], name: str) -> str:
    """Return which memory the container may take, and what helps."""
    (container,) = [each for each in pod["spec"]["containers"] if each["name"] == name]
    limits = (container.get("resources") or {}).get("limits") or {}
    limit = limits.get("memory", "that of its node")
    return f"; its limit is {limit}: raise peers.memoryHeadroomMiB or runtime.hosts"
