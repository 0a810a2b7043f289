"""The analysis sends the run to an object store with credentials that no value holds."""

from __future__ import annotations

from typing import Any

import pytest
from chart_rendering import Refused, container, environment, find, needs_helm, pod_templates, render, template

pytestmark = needs_helm

UPLOAD: dict[str, Any] = {
    "to": "s3://runs/nightly",
    "endpoint": "https://minio.lab:9000",
    "region": "eu",
    "credentials": "store",
}


@pytest.mark.parametrize("spec", [None, {"name": "test", "peers": 10}])
def test_the_analysis_alone_has_the_credentials_and_by_reference(spec: dict[str, Any] | None) -> None:
    pods = pod_templates(render({"results": {"upload": UPLOAD}}, spec))
    analysis = pods.pop("demo-analysis")
    assert "--upload=s3://runs/nightly" in container(analysis)["command"]
    told = environment(analysis)
    assert told["AWS_SECRET_ACCESS_KEY"] == {
        "secretKeyRef": {"name": "store", "key": "AWS_SECRET_ACCESS_KEY"}
    }
    assert told["AWS_SESSION_TOKEN"]["secretKeyRef"]["optional"] is True
    assert (told["AWS_ENDPOINT_URL"], told["AWS_REGION"]) == ("https://minio.lab:9000", "eu")
    assert not [name for name, pod in pods.items() if "AWS_" in str(pod)]


def test_without_an_upload_there_is_nothing_of_it() -> None:
    assert "AWS_" not in template() and "--upload" not in template()


@pytest.mark.parametrize(
    ("endpoint", "port"), [("https://minio.lab:9000", 9000), ("http://minio.lab", 80), ("", 443)]
)
@pytest.mark.parametrize("executors", [0, 2])
def test_the_analysis_may_reach_the_store(endpoint: str, port: int, executors: int) -> None:
    values = {
        "results": {"upload": UPLOAD | {"endpoint": endpoint}},
        "analysis": {"executors": {"count": executors}},
    }
    rules = find(render(values), "NetworkPolicy", "demo-analysis")["spec"]["egress"]
    assert {"ports": [{"port": port, "protocol": "TCP"}]} in rules


@pytest.mark.parametrize(
    "wrong",
    [
        {"to": "https://minio/runs"},
        {"to": "s3://runs/x", "endpoint": "https://user:word@minio"},
        {"to": "s3://runs/x", "secretKey": "abc"},
    ],
)
def test_places_and_endpoints_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        render({"results": {"upload": wrong}})
