"""Pods as the Kubernetes API tells of them to the pod that this program runs in."""

from __future__ import annotations

import json
import os
import ssl
import urllib.request
from pathlib import Path
from typing import Any

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LIMIT = 10.0
"""The seconds that the API server has to answer."""


def in_cluster() -> bool:
    """Return whether this program runs in a pod, where there is an API server to ask."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def read_pod(name: str) -> dict[str, Any]:
    """Return a pod of this pod's own namespace.

    Raises OSError if the API server does not answer, has no such pod or refuses to tell of it, and ValueError
    if its answer is no JSON.
    """
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    request = urllib.request.Request(
        f"{address}/api/v1/namespaces/{(_ACCOUNT / 'namespace').read_text()}/pods/{name}",
        headers={"Authorization": f"Bearer {(_ACCOUNT / 'token').read_text()}"},
    )
    trust = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=_LIMIT, context=trust) as answer:
        pod: dict[str, Any] = json.load(answer)
    return pod
