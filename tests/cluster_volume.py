"""A namespace of a real cluster, and a volume in it that is a folder of this machine."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

IMAGES = os.environ.get("TRELLIS_IMAGES")
needs_cluster = pytest.mark.skipif(not os.environ.get("KUBECONFIG"), reason="needs a cluster: set KUBECONFIG")
needs_images = pytest.mark.skipif(
    IMAGES is None, reason="needs images: set TRELLIS_IMAGES to the prefix of those that the cluster has"
)
LIMIT = 180.0
"""Seconds for pods to start or to go, with nothing to download."""


def kubectl(*command: str, text: str | None = None) -> str:
    """Run kubectl and return what it prints. Raises AssertionError with what it said if it fails."""
    done = subprocess.run(
        ["kubectl", *command], input=text, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def apply(namespace: str, *manifests: dict[str, Any]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    kubectl("apply", "--namespace", namespace, "--filename", "-", text=json.dumps(listed))


@contextmanager
def namespace_of(what: str) -> Iterator[str]:
    """Make a namespace that refuses pods that break the restricted Pod Security Standard, and yield its
    name."""
    name = f"trellis-{what}-{secrets.token_hex(3)}"
    kubectl("create", "namespace", name)
    try:
        kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
        yield name
    finally:
        kubectl("delete", "namespace", name, "--wait=false")


@contextmanager
def folder_for_claim(namespace: str, claim: str, folder: Path, mode: str = "ReadWriteOnce") -> Iterator[Path]:
    """Make a volume for a claim that somebody makes: `folder`, which the pods of any user may write to."""
    folder.chmod(0o777)
    name = f"{namespace}-{claim}"
    apply(
        namespace,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "10Gi"},
                "accessModes": [mode],
                "storageClassName": "",
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": namespace, "name": claim},
                "hostPath": {"path": str(folder), "type": "Directory"},
            },
        },
    )
    try:
        yield folder
    finally:
        kubectl("delete", "persistentvolume", name, "--wait=false")


@contextmanager
def volume(namespace: str, claim: str, folder: Path) -> Iterator[None]:
    """Make a claim whose volume is `folder`, for pods on any node."""
    mode = "ReadWriteMany"
    with folder_for_claim(namespace, claim, folder, mode):
        apply(
            namespace,
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim},
                "spec": {
                    "accessModes": [mode],
                    "storageClassName": "",
                    "volumeName": f"{namespace}-{claim}",
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            },
        )
        yield
