"""The container image that this pod runs, as the cluster knows it."""

from __future__ import annotations

import os
import time

from emulator.fleet.pods.pod_reading import in_cluster, read_pod

_PATIENCE = 60.0
"""The seconds that the node has to tell the cluster of the container, which it does after the program starts.
"""
_PAUSE = 0.5
"""The seconds between two attempts."""


def own_image() -> dict[str, str]:
    """Return `name` and `digest` of the image of the pod TRELLIS_POD: as asked for, and as it was found.

    Returns nothing outside of a cluster. The digest is "unknown" with the reason if the API server does not
    tell it. Waits up to 60 s for it.
    """
    pod = os.environ.get("TRELLIS_POD")
    if not pod or not in_cluster():
        return {}
    try:
        deadline = time.monotonic() + _PATIENCE
        while not (digest := _digest(pod)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the node told of no image within {_PATIENCE:.0f} s")
            time.sleep(_PAUSE)
    except (OSError, KeyError, IndexError, ValueError) as error:
        digest = f"unknown: {error}"
    return {"name": os.environ.get("TRELLIS_IMAGE", ""), "digest": digest}


def _digest(pod: str) -> str:
    """Return the digest that the cluster knows, empty until the node has told of the running container."""
    statuses = read_pod(pod)["status"].get("containerStatuses") or [{"imageID": ""}]
    image: str = statuses[0]["imageID"]
    return image
