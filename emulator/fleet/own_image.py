"""The container image that this pod runs, as the cluster knows it."""

from __future__ import annotations

import json
import os
import ssl
import urllib.request
from pathlib import Path

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LIMIT = 10.0
"""Seconds that the API server has to answer."""


def own_image() -> dict[str, str]:
    """`name` as it was asked for, and `digest` as it was found, of the image of the pod TRELLIS_POD.

    Empty outside a cluster. The digest is told as unknown, with the reason, if the API server does not
    tell it.
    """
    pod, host = os.environ.get("TRELLIS_POD"), os.environ.get("KUBERNETES_SERVICE_HOST")
    if not pod or not host:
        return {}
    try:
        digest = _digest(pod, host)
    except (OSError, KeyError, IndexError, ValueError) as error:
        digest = f"unknown: {error}"
    return {"name": os.environ.get("TRELLIS_IMAGE", ""), "digest": digest}


def _digest(pod: str, host: str) -> str:
    namespace = (_ACCOUNT / "namespace").read_text()
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    request = urllib.request.Request(
        f"{address}/api/v1/namespaces/{namespace}/pods/{pod}",
        headers={"Authorization": f"Bearer {(_ACCOUNT / 'token').read_text()}"},
    )
    trust = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=_LIMIT, context=trust) as answer:
        statuses = json.load(answer)["status"]["containerStatuses"]
    image: str = statuses[0]["imageID"]
    return image
