"""Which image a pod runs."""

from __future__ import annotations

import pytest

from emulator.fleet.pods import own_image as module
from emulator.fleet.pods.own_image import own_image


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


def test_a_node_that_has_not_yet_told_of_the_container_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRELLIS_POD", "r-coordinator-0")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    answers = iter(["", "", "sha256:1"])
    monkeypatch.setattr(module, "_digest", lambda pod: next(answers))
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    assert own_image()["digest"] == "sha256:1"


def test_a_node_that_never_tells_is_told_instead_of_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRELLIS_POD", "r-coordinator-0")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setattr(module, "_digest", lambda pod: "")
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    assert own_image()["digest"].startswith("unknown: the node told of no image")
