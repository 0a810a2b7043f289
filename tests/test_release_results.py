"""How the results of a release are read from this machine: by the proxy, forwarded, and in a browser."""

import contextlib
import http.client
import json
import sys
import threading

import pytest
from release_world import labels

from trellis.command.release.cluster import Cluster
from trellis.command.release.errors import Unreachable
from trellis.command.release.relay import Relay
from trellis.command.release.release import Release

KUBECTL = """\
#!{python} -IS
import json, pathlib, sys, time
(pathlib.Path({folder!r}) / "forwards").open("a").write(json.dumps(sys.argv[1:]) + "\\n")
{said}
sys.stdout.flush()
time.sleep({sleep})
"""


def kubectl(world, said, sleep=60):
    """Write a program kubectl that says this, and stays."""
    file = world.folder / "bin" / "kubectl"
    script = KUBECTL.format(python=sys.executable, folder=str(world.folder), said=said, sleep=sleep)
    file.write_text(script)
    file.chmod(0o755)


@pytest.fixture
def release(world, monkeypatch):
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    world.install()
    world.run.path.mkdir(parents=True)
    world.guard("the token")
    cluster = Cluster("here")
    yield Release(cluster, "demo")
    cluster.close()


def forwards(world) -> list[list[str]]:
    file = world.folder / "forwards"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_results_that_a_policy_closes_to_the_proxy_are_forwarded(world, release):
    world.closed = True
    kubectl(world, f'print("Forwarding from 127.0.0.1:{world.port} -> 8080")')
    assert release.standing() is not None
    assert release.standing() is not None
    (first, second) = forwards(world)
    assert first == second
    assert first[:4] == ["--context", "toy", "--namespace", "here"] and "service/demo-results" in first
    assert "the token" not in json.dumps(first)
    assert sum("/proxy/" in path for path in world.asked) == 1, "the proxy is not tried again"


def test_results_that_the_proxy_reaches_are_not_forwarded(world, release):
    kubectl(world, "raise SystemExit(1)")
    assert release.standing() is not None
    assert not forwards(world)


@pytest.mark.parametrize("said", ['print("error: unable to forward")', "raise SystemExit('no pod')"])
def test_a_forward_that_does_not_begin_is_told(world, release, said):
    world.closed = True
    kubectl(world, said, sleep=0)
    with pytest.raises(Unreachable, match=r"unable to forward|no pod"), release.results.read("status"):
        pass
    assert release.standing() is None


def test_a_service_that_is_not_ready_is_not_forwarded(world, release):
    world.closed = True
    world.objects["deployments"][0]["status"]["readyReplicas"] = 0
    kubectl(world, "raise SystemExit(1)")
    assert release.standing() is None
    assert not forwards(world)
    assert world.objects["deployments"][0]["metadata"]["labels"] == labels("demo", "results")


@pytest.fixture
def relay(release):
    with Relay(release.results) as relay:
        thread = threading.Thread(target=relay.serve, daemon=True)
        thread.start()
        yield relay
        relay._server.shutdown()
        thread.join()


def ask(relay, path, **headers):
    host = relay.address.removeprefix("http://").rstrip("/")
    with contextlib.closing(http.client.HTTPConnection(host, timeout=20)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_a_browser_is_shown_the_results_without_the_token(world, relay):
    status, body = ask(relay, "/status")
    assert status == 200 and json.loads(body)["trials"] == []
    assert b"the token" not in body


@pytest.mark.parametrize("path", ["/run.tar.zst", "/../version", "/status/../../../pods"])
def test_a_browser_is_shown_nothing_else(world, relay, path):
    assert ask(relay, path)[0] == 404
    assert not any("/proxy/" in asked for asked in world.asked)


def test_a_page_of_a_stranger_is_shown_nothing(world, relay):
    assert ask(relay, "/status", Host="stranger.org")[0] == 403


def test_a_browser_is_told_what_is_wrong(world, relay):
    world.token = "another"
    status, body = ask(relay, "/status")
    assert status == 502 and b"token of this release" in body
