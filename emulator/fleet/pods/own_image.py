"""The container image that this pod runs, as the cluster knows it."""

from __future__ import annotations

import json
import os
import ssl
import time
import urllib.request
from pathlib import Path

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LIMIT = 10.0
"""The seconds that the API server has to answer."""
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
    pod, host = os.environ.get("TRELLIS_POD"), os.environ.get("KUBERNETES_SERVICE_HOST")
    if not pod or not host:
        return {}
    try:
        deadline = time.monotonic() + _PATIENCE
        while not (digest := _digest(pod, host)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the node told of no image within {_PATIENCE:.0f} s")
            time.sleep(_PAUSE)
    except (OSError, KeyError, IndexError, ValueError) as error:
        digest = f"unknown: {error}"
    return {"name": os.environ.get("TRELLIS_IMAGE", ""), "digest": digest}


def _digest(pod: str, host: str) -> str:
    """Return the digest that the cluster knows, empty until the node has told of the running container."""
    namespace = (_ACCOUNT / "namespace").read_text()
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    request = urllib.request.Request(
        f"{address}/api/v1/namespaces/{namespace}/pods/{pod}",
        headers={"Authorization": f"Bearer {(_ACCOUNT / 'token').read_text()}"},
    )
    trust = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=_LIMIT, context=trust) as answer:
        statuses = json.load(answer)["status"].get("containerStatuses") or [{"imageID": ""}]
    image: str = statuses[0]["imageID"]
    return image
