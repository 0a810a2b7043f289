"""Attacks on a running release in a real cluster: from another namespace, its own, and one of its hosts.

Needs what `test_cluster_release.py` needs.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chart_rendering import CHART, SMALL_FILE, helm, needs_helm
from cluster_command import COLLECTOR, RUN_LIMIT, call, command, left, room_for, run_command
from cluster_volume import IMAGES, LIMIT, apply, kubectl, namespace_of, needs_cluster, needs_images
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from emulator.experiment.run.directory import RunDirectory
from emulator.telemetry.otlp_files import read_records

pytestmark = [needs_cluster, needs_images, needs_helm]
TRIAL = "vitis-1"
ATTACKS = Path(__file__).with_name("cluster_attacks.py")
EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
  publications: {events: 10}
phases: {join: 3 s, settle: 8 s, measure: 100 s, drain: 3 s}
runtime: {kind: kubernetes, hosts: 2}
fidelity: {timer_lateness_p99: 25 s, delay_error_p99: 25 s, session_error_p99: 60 s, loop_stall: 60 s}
"""
"""The attacks take half a minute, and several times as long on a busy machine."""


@pytest.fixture(scope="module")
def namespaces() -> Iterator[tuple[str, str]]:
    with namespace_of("trust") as here, namespace_of("elsewhere") as there:
        for namespace in (here, there):
            apply(namespace, _attacker())
        for namespace in (here, there):
            _kubectl(namespace, "wait", "pod/attacker", "--for=condition=Ready", f"--timeout={LIMIT:g}s")
        yield here, there


def _attacker() -> dict[str, Any]:
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "attacker"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "attacker",
                    "image": f"{IMAGES}trellis-emulator:test",
                    "imagePullPolicy": "Never",
                    "command": ["sleep", "infinity"],
                    "securityContext": security,
                }
            ],
        },
    }


def _kubectl(namespace: str, *arguments: str, text: str | None = None) -> str:
    return kubectl("--namespace", namespace, *arguments, text=text)


def _install(namespace: str, file: Path, *settings: str, verb: str = "install") -> None:
    images = {"emulator": f"{IMAGES}trellis-emulator:test", "analysis": f"{IMAGES}trellis-analysis:test"}
    fixed = [f"images.{name}={image}" for name, image in images.items()]
    fixed += [f"images.collector={COLLECTOR}", "images.pullPolicy=Never", "storage.className="]
    options = [part for setting in (*fixed, *settings) for part in ("--set", setting)]
    options += ["--values", str(SMALL_FILE)]
    helm("--namespace", namespace, verb, "demo", str(CHART), "--set-file", f"experiment={file}", *options)


def _secret(namespace: str) -> dict[str, str]:
    return dict(json.loads(_kubectl(namespace, "get", "secret", "demo-trust", "--output=json"))["data"])


@pytest.mark.timeout(300)
def test_an_upgrade_keeps_the_tokens_and_another_installation_makes_new_ones(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    with namespace_of("upgrade") as namespace:
        _install(namespace, tmp_path / "small.yaml")
        first = _secret(namespace)
        _install(namespace, tmp_path / "small.yaml", "results.open=true", verb="upgrade")
        assert _secret(namespace) == first
        helm("--namespace", namespace, "uninstall", "demo")
        _install(namespace, tmp_path / "small.yaml")
        again = _secret(namespace)
        assert set(again) == set(first) and not set(again.values()) & set(first.values())


def _certificates(namespace: str, folder: Path) -> None:
    """Make the Secret `mine` with a certificate for the pods of the release demo."""
    name = f"demo.{namespace}.svc"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            "tls.key",
            "-out",
            "tls.crt",
            "-subj",
            "/CN=pods",
            "-addext",
            f"subjectAltName=DNS:{name}",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=60,
    )
    files = {"ca.crt": "tls.crt", "tls.crt": "tls.crt", "tls.key": "tls.key"}
    sources = [f"--from-file={key}={folder / file}" for key, file in files.items()]
    _kubectl(namespace, "create", "secret", "generic", "mine", *sources)


@pytest.mark.timeout(900)
def test_a_trial_by_tls_is_valid_and_nobody_is_answered_in_the_clear(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(EXPERIMENT.replace("measure: 100 s", "measure: 20 s"))
    (tmp_path / "volume").mkdir()
    with namespace_of("tls") as namespace, room_for("demo", namespace, tmp_path / "volume") as volume:
        _certificates(namespace, tmp_path)
        apply(namespace, _attacker())
        settings = ["trust.tls.enabled=true", "trust.tls.existingSecret=mine"]
        _install(namespace, tmp_path / "small.yaml", *settings)
        trial = RunDirectory(volume / "run").trial(TRIAL)
        _until(lambda: (trial.read_status().get("progress") or {}).get("trial_time", 0) > 1)
        told = _attack(namespace, "attacker", namespace)
        _until(lambda: trial.read_status().get("state") in ("valid", "invalid", "failed"))
        status = trial.read_status()
    crowds = {told.pop(name) for name in list(told) if name.startswith("crowd")}
    of_tls = {end for name, end in told.items() if not name.startswith("results")}
    assert (of_tls, crowds) == ({"UNAVAILABLE"}, {"most are closed"})
    assert status["state"] == "valid", status
    assert list(trial.telemetry.glob("*-traces-*.otlp"))


def _until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + RUN_LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)


def _attack(namespace: str, pod: str, release: str) -> dict[str, str]:
    """Attack from this pod and return how each attack ended."""
    host = _kubectl(release, "get", "pod", "demo-peers-0-1", "--output=jsonpath={.status.podIP}")
    services = [f"demo-{name}.{release}:{port}" for name, port in _SERVICES]
    arguments = ["exec", "--stdin", pod, "--", "python", "-", *services, f"{host}:7001", TRIAL]
    return dict(json.loads(_kubectl(namespace, *arguments, text=ATTACKS.read_text())))


_SERVICES = (("coordinator", 7000), ("collector", 4317), ("results", 8080))


def _until_running(volume: Path, process: subprocess.Popen[str]) -> None:
    trial = RunDirectory(volume / "run").trial(TRIAL)
    deadline = time.monotonic() + RUN_LIMIT
    while (trial.read_status().get("progress") or {}).get("trial_time", 0) < 1:
        assert time.monotonic() < deadline and process.poll() is None, process.communicate()[1]
        time.sleep(0.5)


@pytest.mark.timeout(900)
def test_every_attack_fails_and_the_trial_is_what_it_would_have_been(
    namespaces: tuple[str, str], tmp_path: Path
) -> None:
    here, there = namespaces
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    (tmp_path / "volume").mkdir()
    line = run_command(tmp_path / "small.yaml", "demo", here)
    with (
        room_for("demo", here, tmp_path / "volume") as volume,
        subprocess.Popen(
            line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        try:
            _until_running(volume, process)
            inside = _attack(here, "demo-peers-0-0", here)
            outside = {namespace: _attack(namespace, "attacker", here) for namespace in (there, here)}
            state = RunDirectory(volume / "run").trial(TRIAL).read_status().get("state")
            assert state == "running", "the attacks took longer than the trial"
            fetched = call(command("status", "demo", namespace=here), tmp_path)
            logs = _kubectl(here, "logs", "demo-coordinator-0")
            secrets = json.loads(_kubectl(here, "get", "secret", "demo-trust", "--output=json"))["data"]
            pods = _kubectl(here, "get", "pods", "--output=json")
            said = process.communicate(timeout=RUN_LIMIT)
        finally:
            process.kill()
        assert not left(here, "demo")

    for told in outside.values():
        assert told.pop("results, sixty idle connections") == "200"
        crowds = {told.pop(f"crowd at {name}") for name in ("coordinator", "collector", "host")}
        assert crowds == {"most are closed"}
        assert {end for name, end in told.items() if name.startswith("results")} == {"401"}
        assert {end for name, end in told.items() if not name.startswith("results")} == {"UNAUTHENTICATED"}
    own = ("Register", "AwaitStart", "Track", "ReportProgress", "Finish")
    assert {inside[f"{name} with the token"] for name in own} == {"PERMISSION_DENIED"}
    churn = ("AwaitChurn", "ReportKilled")
    assert {inside[f"{name} with the token"] for name in churn} == {"UNAUTHENTICATED"}
    forged = [end for name, end in inside.items() if name.startswith("telemetry")]
    assert len(forged) == 4 and set(forged) == {"UNAUTHENTICATED"}
    assert inside["results /status with a token"] == "401", "hosts have no business with the results"
    assert "refused another program that calls itself host-1" in logs
    assert "experiment small: 1 trial," in fetched.stdout, fetched.stderr
    assert len(secrets) == 4 and not any(value in pods for value in secrets.values())

    assert process.returncode == 0, said
    (home,) = (tmp_path / "runs").iterdir()
    spans = [
        span.name
        for file in (home / "trials" / TRIAL / "telemetry").glob("*-traces-*.otlp")
        for record in read_records(file)
        for resource in TracesData.FromString(record).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert spans and "forged" not in spans
