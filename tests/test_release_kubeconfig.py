"""A damaged file for reaching a cluster: told at once, with its name, and never waited for."""

from __future__ import annotations

import base64
import copy
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trellis.command.release.cluster import Cluster
from trellis.command.release.errors import ReleaseError

pytestmark = pytest.mark.timeout(60)

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:9"}}],
    "users": [{"name": "u", "user": {}}],
}
LIMIT_S = 2.0
"""Seconds of processor time in which a file is refused."""
Refusal = Callable[[bytes], str]


@pytest.fixture
def refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refusal:
    """The reason why a file with this content cannot be used."""
    monkeypatch.setenv("HOME", str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "no-certificate").write_text("no certificate")

    def refuse(content: bytes) -> str:
        path = tmp_path / "kubeconfig"
        path.write_bytes(content)
        return refused(monkeypatch, str(path))

    return refuse


def refused(monkeypatch: pytest.MonkeyPatch, name: str) -> str:
    monkeypatch.setenv("KUBECONFIG", name)
    began = time.process_time()
    with pytest.raises(ReleaseError, match=r"^no cluster is configured: .*Set KUBECONFIG") as caught:
        Cluster()
    assert time.process_time() - began < LIMIT_S
    return str(caught.value)


def test_a_good_file_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(GOOD))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{path}")
    cluster = Cluster()
    assert (cluster.context, cluster.namespace, cluster.server) == ("c", "default", "https://127.0.0.1:9")
    with pytest.raises(ReleaseError, match="is no name of a namespace"):
        Cluster("../x")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"null", "is empty"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"{[", "kubeconfig:1: is not YAML"),
        (b"[1]", "does not hold keys and values"),
        (b"7", "does not hold keys and values"),
        (b"word", "does not hold keys and values"),
        (b"a: " + b"[" * 3000, "nested deeper"),
        (b"a: " + b"9" * 5000, "a number of 5,000 characters"),
        (b"a: [" + b"x," * 30_000 + b"]", "more than 20,000"),
        (b"a: !!python/object/apply:os.system [echo]", "has the tag !!python"),
        (b"{}", "current-context"),
    ],
)
def test_content_that_reaches_no_cluster_is_told(refusal: Refusal, content: bytes, told: str) -> None:
    assert told in refusal(content)


@pytest.mark.parametrize(
    ("way", "value", "told"),
    [
        (["contexts"], "word", "contexts is no list"),
        (["contexts"], [7], "contexts[0] has no name"),
        (["contexts"], None, "Expected object with name c"),
        (["current-context"], ["c"], "current-context is no text"),
        (["current-context"], "other", "Expected object with name other"),
        (["contexts", 0, "context"], "word", "contexts[0].context does not hold"),
        (["contexts", 0, "context"], None, "Expected key context"),
        (["contexts", 0, "context", "cluster"], "other", "Expected object with name other"),
        (["contexts", 0, "context", "namespace"], 7, "namespace is no text"),
        (["clusters", 0, "cluster"], {}, "nothing is no address"),
        (["clusters", 0, "cluster", "server"], 7, "server is no text"),
        (["clusters", 0, "cluster", "server"], "ftp://x", "ftp://x is no address"),
        (["clusters", 0, "cluster", "server"], "https://[::1", ""),
        (["clusters", 0, "cluster", "server"], "https://x:999999", "is no address"),
        (["clusters", 0, "cluster", "certificate-authority"], "/nowhere", "/nowhere: No such file"),
        (["clusters", 0, "cluster", "certificate-authority"], "pipe", "it is a pipe"),
        (["clusters", 0, "cluster", "certificate-authority"], "no-certificate", "cannot be used"),
        (["clusters", 0, "cluster", "certificate-authority-data"], 7, "is no text"),
        (["clusters", 0, "cluster", "certificate-authority-data"], "QUJD", "cannot be used"),
        (["users", 0, "user"], "word", "users[0].user does not hold"),
        (["users", 0, "user", "token"], 7, "token is no text"),
        (["users", 0, "user", "token"], "a\nb", "more than one line"),
        (["users", 0, "user", "tokenFile"], "pipe", "it is a pipe"),
        (["users", 0, "user", "tokenFile"], "/dev/zero", "it is a device"),
        (["users", 0, "user", "client-certificate"], "no-certificate", "cannot be used"),
        (["users", 0, "user", "exec"], 7, "exec does not hold"),
        (["users", 0, "user", "auth-provider"], {"name": "gcp"}, ""),
    ],
)
def test_a_value_that_reaches_no_cluster_is_told(
    refusal: Refusal, way: list[Any], value: Any, told: str
) -> None:
    document = copy.deepcopy(GOOD)
    inner: Any = document
    for part in way[:-1]:
        inner = inner[part]
    inner[way[-1]] = value
    assert told in refusal(json.dumps(document).encode())


def test_what_a_file_keeps_secret_is_not_told(refusal: Refusal) -> None:
    document = copy.deepcopy(GOOD)
    secret = base64.b64encode(b"a secret").decode()
    config = {"name": "oidc", "config": {"refresh-token": secret}}
    document["users"] = [{"name": "u", "user": {"auth-provider": config}}]
    assert secret not in refusal(json.dumps(document).encode())


def test_what_is_no_file_is_told_and_never_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(100_000_000)
    assert "it is a pipe" in refused(monkeypatch, str(tmp_path / "pipe"))
    assert "it is a pipe" in refused(monkeypatch, f"{tmp_path / 'missing'}:{tmp_path / 'pipe'}")
    assert "it is a device" in refused(monkeypatch, "/dev/zero")
    assert "it is a folder" in refused(monkeypatch, str(tmp_path))
    assert "more than the 2,000,000 bytes" in refused(monkeypatch, str(tmp_path / "large"))
    assert "too long" in refused(monkeypatch, "x" * 5000)
    assert "No configuration found" in refused(monkeypatch, str(tmp_path / "missing"))
    assert "No configuration found" in refused(monkeypatch, "~no-such-user/config")
