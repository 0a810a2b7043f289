"""The claims of releases are listed with their age, and those that are older than they need be are named."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from chart_rendering import Refused, find, needs_helm, render
from release_world import claim


def made(name: str, days: float, keep: str = "") -> dict[str, Any]:
    """Return a claim of the release before the dash of its name."""
    about = claim()
    at = datetime.now(UTC) - timedelta(days=days)
    about["metadata"] |= {
        "name": name,
        "creationTimestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "labels": about["metadata"]["labels"] | {"app.kubernetes.io/instance": name.partition("-")[0]},
        "annotations": {"trellis/keep-for": keep} if keep else {},
    }
    about["status"]["capacity"] = {"storage": "10Gi"}
    return about


@pytest.fixture
def claims(world):
    world.install()
    world.objects["persistentvolumeclaims"] = [
        made("young-results", 2, "30 d"),
        made("old-results", 40, "30 d"),
        made("any-results", 90),
        made("demo-results", 50, "30 d"),
    ]
    return world


def test_claims_are_listed_by_age_and_the_old_ones_of_no_release_are_named(trellis, claims):
    told = json.loads(trellis("claims", "--json").stdout)
    assert [(each["release"], each["installed"], each["overdue"]) for each in told] == [
        ("any", False, False), ("demo", True, False), ("old", False, True), ("young", False, False)
    ]  # fmt: skip
    assert (told[0]["keep_for_s"], told[2]["keep_for_s"], told[0]["size"]) == (None, 30 * 86400, "10Gi")
    shown = trellis("claims").stdout
    assert "40 d" in shown
    assert shown.splitlines()[-1].endswith("delete persistentvolumeclaim old-results")
    assert not claims.deleted, "they are named and not deleted"


def test_status_tells_how_old_a_claim_is(trellis, claims):
    assert "  demo-results: Bound, 50 d old" in trellis("status", "demo").stdout.splitlines()


@needs_helm
def test_a_claim_says_how_long_it_is_to_be_kept() -> None:
    found = find(render({"storage": {"keepFor": "30 d"}}), "PersistentVolumeClaim", "demo-results")
    assert found["metadata"]["annotations"]["trellis/keep-for"] == "30 d"
    plain = find(render(), "PersistentVolumeClaim", "demo-results")
    assert "trellis/keep-for" not in plain["metadata"]["annotations"]
    with pytest.raises(Refused, match="keepFor"):
        render({"storage": {"keepFor": "a month"}})
