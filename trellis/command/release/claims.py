"""Volume claims of releases, with their age."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from emulator.files.quantities import parse_duration
from trellis.command.release.cluster import Cluster, Json

_INSTANCE, _KEEP_FOR = "app.kubernetes.io/instance", "trellis/keep-for"
_SELECTOR = "app.kubernetes.io/name=trellis"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that a release has made."""

    name: str
    release: str
    installed: bool
    """This is true if the release is there."""
    phase: str
    size: str
    """The size of its volume, in the cluster's form, such as 10Gi."""
    age: float
    """The seconds since it was made."""
    keep_for: float | None
    """The seconds for which it is to stay; None if nothing was said of it."""

    @property
    def overdue(self) -> bool:
        return not self.installed and self.keep_for is not None and self.age > self.keep_for


def find_claims(cluster: Cluster) -> list[Claim]:
    """Return the claims of the namespace that releases have made, the oldest first. Raises ReleaseError."""
    releases = {
        each["metadata"]["labels"].get(_INSTANCE)
        for each in cluster.objects("apis/apps/v1", "deployments", labelSelector=_SELECTOR)
    }
    now = datetime.now(UTC)
    found = [
        _claim(about, releases, now)
        for about in cluster.objects("api/v1", "persistentvolumeclaims", labelSelector=_SELECTOR)
    ]
    return sorted(found, key=lambda claim: (-claim.age, claim.name))


def age_of(about: Json, now: datetime | None = None) -> float | None:
    """Return the seconds since an object was made; None if the cluster does not say."""
    made = about["metadata"].get("creationTimestamp")
    if not made:
        return None
    return max(0.0, ((now or datetime.now(UTC)) - datetime.fromisoformat(made)).total_seconds())


def fields(claim: Claim) -> Json:
    """Return a claim for JSON."""
    return {
        "claim": claim.name,
        "release": claim.release,
        "installed": claim.installed,
        "phase": claim.phase,
        "size": claim.size,
        "age_s": round(claim.age, 3),
        "keep_for_s": claim.keep_for,
        "overdue": claim.overdue,
    }


def _claim(about: Json, releases: set[str | None], now: datetime) -> Claim:
    release = str(about["metadata"]["labels"].get(_INSTANCE, ""))
    status = about.get("status") or {}
    return Claim(
        about["metadata"]["name"],
        release,
        release in releases,
        str(status.get("phase", "")),
        str((status.get("capacity") or {}).get("storage", "")),
        age_of(about, now) or 0.0,
        _keep_for(about),
    )


def _keep_for(about: Json) -> float | None:
    text = (about["metadata"].get("annotations") or {}).get(_KEEP_FOR, "")
    try:
        return parse_duration(text)
    except ValueError:
        return None
