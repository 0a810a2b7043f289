"""What the chart makes of values and an experiment, without a cluster."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

CHART = Path(__file__).parent.parent / "charts" / "trellis"
QUOTA: dict[str, Any] = yaml.safe_load((CHART / "values-quota.yaml").read_text())
"""The values for a namespace whose quota asks each container for limits."""
SMALL_FILE = CHART / "values-small.yaml"
SMALL: dict[str, Any] = yaml.safe_load(SMALL_FILE.read_text())
"""The values for a small node, as that of the tests is."""
_KUBERNETES = "1.33.0"
_LIMIT = 60

needs_helm = pytest.mark.skipif(shutil.which("helm") is None, reason="the program helm is not on the PATH")

Manifest = dict[str, Any]


class Refused(Exception):
    """Helm renders nothing, and says why."""


def experiment(hosts: int = 20, peers: int = 200, **more: Any) -> dict[str, Any]:
    """Return an experiment for pods; `more` are top-level keys."""
    return {"name": "test", "peers": peers, "runtime": {"kind": "kubernetes", "hosts": hosts}, **more}


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` with `changes`; mappings are merged."""
    result = dict(values)
    for key, value in changes.items():
        inside = result.get(key)
        result[key] = merged(inside, value) if isinstance(inside, dict) and isinstance(value, dict) else value
    return result


def render(
    values: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | str | None = None,
    release: str = "demo",
) -> list[Manifest]:
    """Return all manifests, those of hooks too. Raises Refused."""
    return load(template(values, spec, release))


def template(
    values: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | str | None = None,
    release: str = "demo",
) -> str:
    """Return what `helm template` prints. Raises Refused."""
    with tempfile.TemporaryDirectory() as folder:
        return helm(
            "template",
            release,
            str(CHART),
            "--kube-version",
            _KUBERNETES,
            *arguments(Path(folder), values, spec),
        )


def arguments(
    folder: Path, values: Mapping[str, Any] | None, spec: Mapping[str, Any] | str | None
) -> list[str]:
    """Return the options of helm that give values and experiment, as files in `folder`."""
    spec = experiment() if spec is None else spec
    (folder / "values.json").write_text(json.dumps(values or {}))
    (folder / "experiment.yaml").write_text(spec if isinstance(spec, str) else json.dumps(spec))
    return [
        "--values",
        str(folder / "values.json"),
        "--set-file",
        f"experiment={folder / 'experiment.yaml'}",
    ]


def helm(*command: str) -> str:
    """Run helm and return what it prints. Raises Refused with what it said if it fails."""
    done = subprocess.run(["helm", *command], capture_output=True, text=True, timeout=_LIMIT)
    if done.returncode:
        raise Refused(done.stderr.strip())
    return done.stdout


def load(text: str) -> list[Manifest]:
    """Return the YAML documents that are not empty."""
    return [found for found in yaml.load_all(text, yaml.CSafeLoader) if found]


def find(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    """Return the only manifest of this kind and name."""
    (found,) = [m for m in manifests if (m["kind"], m["metadata"]["name"]) == (kind, name)]
    return found


def kinds(manifests: list[Manifest], kind: str) -> list[Manifest]:
    """Return all manifests of a kind."""
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def pod_templates(manifests: list[Manifest]) -> dict[str, Manifest]:
    """Return the templates of pods by the name of the workload, with the template of Spark's executors."""
    found = {
        manifest["metadata"]["name"]: manifest["spec"]["template"]
        for manifest in manifests
        if manifest["kind"] in ("StatefulSet", "Deployment", "Job")
    }
    for manifest in kinds(manifests, "ConfigMap"):
        if "executor.yaml" in manifest.get("data", {}):
            (found[manifest["metadata"]["name"]],) = load(manifest["data"]["executor.yaml"])
    return found


def containers(template: Manifest) -> list[Manifest]:
    """Return all containers of a pod."""
    assert not template["spec"].get("initContainers")
    return list(template["spec"]["containers"])


def container(template: Manifest) -> Manifest:
    """Return the only container of a pod, apart from a gate before it."""
    (found,) = [each for each in containers(template) if each["name"] != "gate"]
    return dict(found)


def environment(template: Manifest) -> dict[str, Any]:
    """Return the values of the container's environment; a reference as it is."""
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container(template)["env"]}
