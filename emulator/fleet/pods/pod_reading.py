"""The Kubernetes API as the pod that this program runs in reaches it: pods, Leases and events."""

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

MERGE = "application/merge-patch+json"
"""The type of a body that changes some fields of an object."""


def in_cluster() -> bool:
    """Return whether this program runs in a pod, where there is an API server to ask."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def read_pod(name: str) -> dict[str, Any]:
    """Return a pod of this pod's own namespace.

    Raises OSError if the API server does not answer, has no such pod or refuses to tell of it, and ValueError
    if its answer is no JSON.
    """
    return ask("GET", f"api/v1/namespaces/{own_namespace()}/pods/{name}")


def own_namespace() -> str:
    """Return the namespace of this program's pod, "default" outside of a cluster."""
    file = _ACCOUNT / "namespace"
    return file.read_text() if file.exists() else "default"


def ask(method: str, path: str, body: dict[str, Any] | None = None, kind: str = MERGE) -> dict[str, Any]:
    """Return the API server's answer; `kind` is the type of the body.

    Raises OSError if the API server does not answer or refuses, which is urllib's HTTPError with the status,
    and ValueError if its answer is no JSON.
    """
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    headers = {"Authorization": f"Bearer {(_ACCOUNT / 'token').read_text()}"}
    data = None
    if body is not None:
        data, headers["Content-Type"] = json.dumps(body).encode(), kind
    request = urllib.request.Request(f"{address}/{path}", data=data, headers=headers, method=method)
    trust = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=_LIMIT, context=trust) as answer:
        told: dict[str, Any] = json.load(answer)
    return told
