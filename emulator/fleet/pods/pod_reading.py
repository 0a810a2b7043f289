"""The Kubernetes API as the pod that this program runs in reaches it: pods of its namespace, and events."""

from __future__ import annotations

import json
import os
import ssl
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LIMIT = 10.0
"""The seconds that the API server has to answer."""


def in_cluster() -> bool:
    """Return whether this program runs in a pod, where there is an API server to ask."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def own_namespace() -> str:
    """Return the namespace of the pod that this program runs in. Raises OSError outside of a cluster."""
    return (_ACCOUNT / "namespace").read_text()


def read_pod(name: str) -> dict[str, Any]:
    """Return a pod of this pod's own namespace. Raises OSError and ValueError, as `ask_api` does."""
    return ask_api(f"pods/{name}")


def ask_api(path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what the API server has at a path in this pod's own namespace, or makes there of a body.

    Raises OSError if the API server does not answer, has nothing there or refuses, and ValueError if its
    answer is no JSON.
    """
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    request = urllib.request.Request(
        f"{address}/api/v1/namespaces/{own_namespace()}/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {(_ACCOUNT / 'token').read_text()}",
            "Content-Type": "application/json",
        },
    )
    trust = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=_LIMIT, context=trust) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
