"""Every program that Prometheus asks tells of its own process."""

from __future__ import annotations

from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from emulator.network.metrics_server import ProcessMetrics, serve


def test_a_program_tells_of_its_memory_and_processor_time_by_release_and_name() -> None:
    with (
        serve("127.0.0.1:0", [ProcessMetrics("demo", "coordinator")]) as server,
        urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=5) as answer,
    ):
        families = list(text_string_to_metric_families(answer.read().decode()))
    samples = {sample.name: sample for family in families for sample in family.samples}
    assert samples["process_resident_memory_bytes"].value > 1e6
    assert samples["process_cpu_seconds_total"].value > 0
    assert all(each.labels == {"release": "demo", "program": "coordinator"} for each in samples.values())
