"""The analysis of a release in a real cluster, as tests watch it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from cluster_volume import kubectl


def pods(namespace: str, selector: str) -> list[str]:
    line = ("get", "pods", "--namespace", namespace, "--selector", selector, "--output", "json")
    items = json.loads(kubectl(*line))["items"]
    return [item["metadata"]["name"] for item in items if item["status"]["phase"] in ("Pending", "Running")]


def wait_until(met: Callable[[], bool], limit: float, namespace: str) -> None:
    deadline = time.monotonic() + limit
    while not met():
        assert time.monotonic() < deadline, kubectl(
            "logs", "--namespace", namespace, "job/demo-analysis", "--all-pods=true"
        )
        time.sleep(0.5)


def complete(namespace: str) -> bool:
    condition = 'jsonpath={.status.conditions[?(@.type=="Complete")].status}'
    return kubectl("get", "job/demo-analysis", "--namespace", namespace, "--output", condition) == "True"
