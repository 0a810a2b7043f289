"""The configuration of a release's Collector: what it writes to files, and what it forwards."""

from __future__ import annotations

import pytest
from chart_rendering import find, load, needs_helm, render

pytestmark = needs_helm


@pytest.mark.parametrize("signal", ["traces", "metrics"])
def test_what_is_written_to_files_passes_no_queue(signal: str) -> None:
    (config,) = load(find(render(), "ConfigMap", "demo-collector")["data"]["config.yaml"])
    assert config["service"]["pipelines"][f"{signal}/files"] == {
        "receivers": ["otlp"],
        "processors": ["memory_limiter"],
        "exporters": [f"file/{signal}"],
    }
    assert list(config["service"]["pipelines"]) == ["traces/files", "metrics/files"]
    exporter = config["exporters"][f"file/{signal}"]
    assert (exporter["format"], exporter["compression"]) == ("proto", "zstd")
    assert exporter["rotation"]["max_backups"] == 0, "none is deleted"
    assert "append" not in exporter, "it has a buffer, which is lost with a Collector that is killed"
    assert exporter["group_by"] == {"enabled": True, "resource_attribute": "trellis.trial"}


@pytest.mark.parametrize("tls", [True, False])
def test_forwarded_telemetry_goes_a_way_of_its_own(tls: bool) -> None:
    values = {"telemetry": {"forward": {"endpoint": "tempo.monitoring:4317", "tls": tls}}}
    manifests = render(values)
    (config,) = load(find(manifests, "ConfigMap", "demo-collector")["data"]["config.yaml"])
    exporter = config["exporters"]["otlp/forward"]
    assert exporter == {"endpoint": "tempo.monitoring:4317", "tls": {"insecure": not tls}}
    for signal in ("traces", "metrics"):
        assert config["service"]["pipelines"][f"{signal}/files"]["exporters"] == [f"file/{signal}"]
        assert config["service"]["pipelines"][f"{signal}/forward"]["processors"] == ["batch"]


@pytest.mark.parametrize("share", [0.1, 1])
def test_a_share_of_the_traces_is_forwarded_and_all_are_kept(share: float) -> None:
    manifests = render({"telemetry": {"forward": {"endpoint": "tempo.monitoring:4317", "sample": share}}})
    (config,) = load(find(manifests, "ConfigMap", "demo-collector")["data"]["config.yaml"])
    pipelines = config["service"]["pipelines"]
    sampling = ["probabilistic_sampler"] * (share < 1)
    assert pipelines["traces/forward"]["processors"] == [*sampling, "batch"]
    assert pipelines["metrics/forward"]["processors"] == ["batch"]
    assert pipelines["traces/files"]["processors"] == ["memory_limiter"]
    assert set(config["processors"]) == {"memory_limiter", "batch", *sampling}
    if sampling:
        sampler = config["processors"]["probabilistic_sampler"]
        assert (sampler["mode"], sampler["sampling_percentage"]) == ("hash_seed", 10)
