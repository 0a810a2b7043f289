"""The removal of a release."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from trellis.command.release.errors import NotThere
from trellis.command.release.helm import Helm
from trellis.command.release.release import Release
from trellis.command.release.waiting import Waiting

_CORE, _BATCH = "api/v1", "apis/batch/v1"


def uninstall(helm: Helm, release: Release, note: Callable[[str], None]) -> list[str]:
    """Remove all but the volume, and wait for the pods to end. Returns the claims that stay.

    Raises ReleaseError.
    """
    if helm.release(release.name) is not None:
        helm.uninstall(release.name)
    for job in release.jobs():  # Helm no longer knows the checks before an installation
        with contextlib.suppress(NotThere):
            release.cluster.delete(_BATCH, "jobs", job["metadata"]["name"])
    if not Waiting(release).gone(note):
        note(f"some pods have not ended yet: kubectl --namespace {release.cluster.namespace} get pods")
    return [str(claim["metadata"]["name"]) for claim in release.claims()]


def delete_claims(release: Release, names: list[str]) -> None:
    """Delete claims, and with them what is on their volumes. Raises ReleaseError."""
    for name in names:
        with contextlib.suppress(NotThere):
            release.cluster.delete(_CORE, "persistentvolumeclaims", name)
