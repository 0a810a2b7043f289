"""Which image a pod runs."""

from __future__ import annotations

import pytest

from emulator.fleet.own_image import own_image


def test_outside_a_cluster_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRELLIS_POD", raising=False)
    assert own_image() == {}


def test_an_api_that_does_not_answer_is_told_instead_of_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRELLIS_POD", "r-coordinator-0")
    monkeypatch.setenv("TRELLIS_IMAGE", "trellis-emulator:1")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    found = own_image()
    assert found["name"] == "trellis-emulator:1"
    assert found["digest"].startswith("unknown: ")
