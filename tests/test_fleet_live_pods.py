"""Prometheus is told of a real trial while it runs."""

from __future__ import annotations

import socket
from urllib.error import URLError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families
from test_fleet_pods import HOSTS, Release, release

__all__ = ["release"]


def samples(address: str) -> dict[tuple[str, ...], float]:
    """Return the values by name and by host, method and code; nothing as long as nobody answers."""
    try:
        with urlopen(f"http://{address}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    except URLError:
        return {}
    told = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    keys = ("host", "method", "code", "kind", "region")
    return {
        (sample.name, *(sample.labels[key] for key in keys if key in sample.labels)): sample.value
        for sample in told
        if not sample.name.endswith("_bucket")
    }


def test_a_scrape_has_delays_hops_lateness_hosts_and_calls_of_the_trial_that_runs(release: Release) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    release.coordinator("--metrics", address)
    for number in range(HOSTS):
        release.host(number)
    seen: dict[tuple[str, ...], float] = {}

    def delivers() -> bool:
        now = samples(address)
        if now.get(("trellis_delivery_delay_seconds_count",)):
            seen.update(now)
        return release.ended()

    release.until(delivers)
    deliveries = seen[("trellis_delivery_delay_seconds_count",)]
    assert 0 < deliveries <= seen[("trellis_delivery_hops_count",)]
    assert seen[("trellis_delivery_delay_seconds_sum",)] / deliveries > 0.02, "the network's one-way delay"
    assert seen[("trellis_delivery_hops_sum",)] >= deliveries
    assert seen[("trellis_timer_lateness_seconds_count",)] > seen[("trellis_messages_sent_total",)]
    assert seen[("trellis_delay_error_seconds_count",)] > 0
    kinds = {key[1]: value for key, value in seen.items() if key[0] == "trellis_kind_messages_sent_total"}
    assert kinds["notification"] > 0 and kinds["maintenance"] > 0
    assert sum(kinds.values()) <= seen[("trellis_messages_sent_total",)]
    regions = [seen[("trellis_region_deliveries_total", region)] for region in ("eu", "us")]
    assert all(regions) and sum(regions) == seen[("trellis_deliveries_total",)]
    assert sum(seen[("trellis_region_peers_up", region)] for region in ("eu", "us")) == 6
    hosts = [seen[("trellis_host_messages_sent_total", f"host-{number}")] for number in range(HOSTS)]
    assert all(hosts) and sum(hosts) <= seen[("trellis_messages_sent_total",)]
    assert seen[("trellis_hosts_cpu_seconds_total",)] > 0.1
    assert seen[("trellis_control_requests_total", "Register", "OK")] == HOSTS
    assert seen[("trellis_control_request_duration_seconds_count", "ReportProgress")] > HOSTS
