"""A cluster and a helm that are none: what the command asks of them, answered over HTTP and by a script."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from emulator.experiment.run.archive import pack
from emulator.experiment.run.directory import RunDirectory
from emulator.trials.run_progress import Reader
from trellis.command.labels import trial_labels_of

LABELS = {"app.kubernetes.io/name": "trellis"}
COLUMNS = ("Name", "Ready", "Status", "Restarts")
"""What `kubectl get pods` shows."""
PROGRESS = {
    "phase": "measure",
    "trial_time": 50.0,
    "trial_end": 80.0,
    "peers_up": 10,
    "asked": 3,
    "delivered": 5,
    "messages": 900,
    "words": ["published", "delivered"],
}

HELM = """\
#!{python} -IS
import json, pathlib, sys, time
folder = pathlib.Path({folder!r})
arguments = sys.argv[1:]
with (folder / "calls").open("a") as file:
    file.write(json.dumps(arguments) + "\\n")
verb = next(a for a in arguments if a in ("install", "uninstall", "list"))
installed = folder / "installed"
if verb == "list":
    print(json.dumps([json.loads(installed.read_text())] if installed.exists() else []))
elif verb == "uninstall":
    installed.unlink()
else:
    name = arguments[arguments.index("install") + 1]
    experiment = arguments[arguments.index("--set-file") + 1].removeprefix("experiment=")
    (folder / "experiment.yaml").write_text(pathlib.Path(experiment).read_text())
    about = dict(name=name, status="deployed", chart="trellis-0.1.0", updated="2026-01-31 12:00:00.1 +0000")
    installed.write_text(json.dumps(about))
    answer = json.loads((folder / "install").read_text()) if (folder / "install").exists() else {{}}
    time.sleep(answer.get("sleep", 0))
    print(answer.get("said", ""), file=sys.stderr)
    sys.exit(answer.get("status", 0))
"""


def labels(release: str, component: str) -> dict[str, str]:
    return {**LABELS, "app.kubernetes.io/instance": release, "app.kubernetes.io/component": component}


def workload(name: str, component: str, wanted: int = 1, ready: int = 1, **status: Any) -> dict[str, Any]:
    """Return a StatefulSet or Deployment of the release demo."""
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels("demo", component)},
        "spec": {"replicas": wanted},
        "status": {"readyReplicas": ready, "replicas": wanted, **status},
    }


def job(condition: str | None = None, **about: str) -> dict[str, Any]:
    """Return the analysis of the release demo."""
    conditions = [{"type": condition, "status": "True", **about}] if condition else []
    return {
        "metadata": {"name": "demo-analysis", "uid": "uid-job", "labels": labels("demo", "analysis")},
        "spec": {},
        "status": {"active": 1, "conditions": conditions},
    }


def claim(phase: str = "Bound") -> dict[str, Any]:
    return {
        "metadata": {"name": "demo-results", "uid": "uid-claim", "labels": labels("demo", "results")},
        "status": {"phase": phase},
    }


def event(kind: str, name: str, reason: str, message: str, **fields: Any) -> dict[str, Any]:
    about = {"kind": kind, "name": name, "uid": f"uid-{name}"}
    return {
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-01-31T12:00:00Z",
        **fields,
    }


def pod(name: str, *containers: dict[str, Any], conditions: Any = (), init: Any = ()) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {
            "conditions": list(conditions),
            "containerStatuses": list(containers),
            "initContainerStatuses": list(init),
        },
    }


def waiting(reason: str, message: str = "", image: str = "trellis-emulator:1") -> dict[str, Any]:
    return {"image": image, "state": {"waiting": {"reason": reason, "message": message}}}


class World:
    """One release named demo in the namespace here; tests change what there is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = RunDirectory(folder / "volume" / "run")
        self.objects: dict[str, list[dict[str, Any]]] = {
            "statefulsets": [
                workload("demo-coordinator", "coordinator"),
                workload("demo-peers-0", "peers", 2, 2),
            ],
            "deployments": [workload("demo-results", "results"), workload("demo-collector", "collector")],
            "jobs": [],
            "events": [],
            "persistentvolumeclaims": [],
            "secrets": [],
            "leases": [],
            "pods": [],
            "cronjobs": [],
            "services": [
                {
                    "metadata": {"name": "demo-results", "labels": labels("demo", "results")},
                    "spec": {"ports": [{"port": 8080}]},
                }
            ],
        }
        self.rows: list[tuple[str, str, str, str]] = [("demo-coordinator-0", "1/1", "Running", "0")]
        self.pods: dict[str, dict[str, Any]] = {}
        self.logs: dict[str, str] = {}
        self.stages: list[Callable[[], None]] = []
        """What happens before each look at how far the run is."""
        self.broken_archives = 0
        """How many archives break off."""
        self.applied = False
        """Whether somebody applied what the chart renders, without Helm."""
        self.namespaces = {"here"}
        self.refuse: tuple[int, str] | None = None
        """Status and message that all requests get."""
        self.asked: list[str] = []
        self.token = ""
        """What the results service asks for."""
        self.closed = False
        """Whether a policy closes the results to the API server's proxy."""
        self.told: bytes | None = None
        """What it tells instead of how far the run is."""
        self.deleted: list[str] = []
        self._made = False
        """Whether the chart has made its claim."""
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self._reader = Reader(self.run, labels=trial_labels_of)
        (folder / "bin").mkdir()
        helm = folder / "bin" / "helm"
        helm.write_text(HELM.format(python=sys.executable, folder=str(folder)))
        helm.chmod(helm.stat().st_mode | stat.S_IXUSR)
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(self._kubeconfig())

    def _kubeconfig(self) -> str:
        host, port = self._server.server_address[:2]
        cluster = {"name": "c", "cluster": {"server": f"http://{host!s}:{port}"}}
        context = {"name": "toy", "context": {"cluster": "c", "user": "u", "namespace": "here"}}
        whole = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "contexts": [context],
            "users": [{"name": "u", "user": {}}],
            "current-context": "toy",
        }
        return json.dumps(whole)

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {"KUBECONFIG": str(self.kubeconfig), "PATH": path}

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def installed(self) -> bool:
        return (self.folder / "installed").exists()

    @property
    def there(self) -> bool:
        return self.installed or self.applied

    @property
    def helm_calls(self) -> list[list[str]]:
        """The arguments of each, without the namespace."""
        return [json.loads(line)[2:] for line in (self.folder / "calls").read_text().splitlines()]

    def install(self) -> None:
        """Install the release as if it had been there before."""
        about = {
            "name": "demo",
            "status": "deployed",
            "chart": "trellis-0.1.0",
            "updated": "2026-01-31 12:00:00",
        }
        (self.folder / "installed").write_text(json.dumps(about))
        self._made = True
        self.objects["persistentvolumeclaims"] = [claim()]

    def on_install(self, **answer: Any) -> None:
        """Let helm do this then: sleep `sleep` seconds, print `said` on the standard error, exit with
        `status`."""
        (self.folder / "install").write_text(json.dumps(answer))

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def guard(self, token: str) -> None:
        """The results service asks for a token, which is in a Secret."""
        self.token = token
        volume = {"name": "trust", "secret": {"secretName": "demo-trust"}}
        (results,) = [d for d in self.objects["deployments"] if d["metadata"]["name"] == "demo-results"]
        results["spec"]["template"] = {"spec": {"volumes": [volume]}}
        data = {"results": base64.b64encode(token.encode()).decode()}
        self.objects["secrets"] = [{"metadata": {"name": "demo-trust"}, "data": data}]

    def answer(self, path: str, query: dict[str, str], table: bool, token: str) -> tuple[int, bytes]:
        """Return the answer to a GET."""
        if self.refuse is not None:
            return self.refuse[0], json.dumps({"message": self.refuse[1]}).encode()
        if path == "/version":
            return 200, b"{}"
        if match := re.fullmatch(r"/api/v1/namespaces/([^/]+)", path):
            there = match[1] in self.namespaces
            return (200, b"{}") if there else (404, b'{"message": "not found"}')
        if match := re.fullmatch(r".*/secrets/([^/]+)", path):
            for secret in self.objects["secrets"]:
                return 200, json.dumps(secret).encode()
            return 404, b'{"message": "gone"}'
        if "/proxy/" in path and self.closed:
            return 503, b'{"message": "error trying to reach service: dial tcp: i/o timeout"}'
        if "/proxy/" in path or path in ("/status", "/run.tar.zst"):
            if self.token and token != self.token:
                return 401, b"the results ask for the token of this release"
            return self._results(path.rpartition("/")[2])
        if match := re.fullmatch(r".*/pods/([^/]+)/log", path):
            return 200, self.logs.get(match[1], "").encode()
        if match := re.fullmatch(r".*/pods/([^/]+)", path):
            there = match[1] in self.pods
            return (200, json.dumps(self.pods[match[1]]).encode()) if there else (404, b'{"message": "gone"}')
        kind = path.rpartition("/")[2]
        if self.installed and not self._made:
            self._made = True
            self.objects["persistentvolumeclaims"] = [claim()]
        if table:
            columns = [{"name": column} for column in COLUMNS]
            rows = [{"cells": list(row)} for row in self.rows] if self.there else []
            return 200, json.dumps({"columnDefinitions": columns, "rows": rows}).encode()
        stays = kind in ("persistentvolumeclaims", "events", "leases") or self.there
        items = [item for item in self.objects[kind] if stays and _selected(item, query)]
        return 200, json.dumps({"items": items}).encode()

    def delete(self, path: str) -> None:
        kind, _, name = path.rpartition("/")
        kind = kind.rpartition("/")[2]
        self.deleted.append(f"{kind}/{name}")
        self.objects[kind] = [item for item in self.objects[kind] if item["metadata"]["name"] != name]

    def patch(self, path: str, change: dict[str, Any]) -> int:
        """Change the annotations of an object. Returns the status of the answer."""
        kind, name = path.rpartition("/")[0].rpartition("/")[2], path.rpartition("/")[2]
        for item in self.objects[kind]:
            if item["metadata"]["name"] == name:
                notes = item["metadata"].setdefault("annotations", {})
                notes.update(change["metadata"]["annotations"])
                item["metadata"]["annotations"] = {k: v for k, v in notes.items() if v is not None}
                return 200
        return 404

    def _results(self, name: str) -> tuple[int, bytes]:
        if not self.there:
            return 503, b'{"message": "no endpoints available"}'
        if name == "status":
            if self.told is not None:
                return 200, self.told
            if self.stages:
                self.stages.pop(0)()
            return 200, self._reader.read().to_json().encode()
        sink = _Bytes()
        pack(self.run.path, sink)
        if self.broken_archives:
            self.broken_archives -= 1
            return 200, bytes(sink.data[: len(sink.data) // 2])
        return 200, bytes(sink.data)


class _Bytes:
    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes) -> int:
        self.data += data
        return len(data)


def _selected(item: dict[str, Any], query: dict[str, str]) -> bool:
    here = item.get("metadata", {}).get("labels") or {}
    pairs = [pair.split("=") for pair in query.get("labelSelector", "").split(",") if pair]
    if field := query.get("fieldSelector"):
        return bool(item["involvedObject"]["kind"] == field.partition("=")[2])
    return all(here.get(pair[0]) == pair[1] if pair[1:] else pair[0] in here for pair in pairs)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, world: World) -> None:
        self.world = world
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer's body waits 40 ms for its header's acknowledgement

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.server.world.asked.append(url.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        table = "as=Table" in self.headers.get("Accept", "")
        self._answer(
            *self.server.world.answer(url.path, query, table, self.headers.get("X-Trellis-Token", ""))
        )

    def do_PATCH(self) -> None:
        change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.world.patch(urlsplit(self.path).path, change)
        self._answer(status, b'{"message": "not found"}' if status == 404 else b"{}")

    def do_DELETE(self) -> None:
        self.server.world.delete(urlsplit(self.path).path)
        self._answer(200, b"{}")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass
