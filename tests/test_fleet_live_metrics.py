"""What Prometheus is told while a trial runs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families
from test_fleet_coordinator import SECOND, begin, plan_of, register, result, spec_of

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.live_metrics import HOST_STATES, HostReading, LiveCollector, Reading
from emulator.fleet.coordinator.live_reading import MOST_HOSTS, read_live
from emulator.fleet.coordinator.live_regions import MOST_REGIONS
from emulator.fleet.coordinator.live_totals import Tally
from emulator.network import metrics_server
from emulator.network.metrics_server import MetricsServer
from emulator.runtime.live_histograms import BOUNDS
from trellis.v1 import control_pb2


def tally(*counts: int) -> Tally:
    made = Tally(len(counts))
    exemplar = control_pb2.Exemplar(bound=2, trace_id=bytes(15) + b"\x07", value=2.0, at_s=1e9)
    told = control_pb2.Histogram(counts=counts, sum=12.0, exemplars=[exemplar])
    made.take(control_pb2.Histogram(), told)
    return made


def serve(listen: str, release: str, read: Callable[[], Sequence[Reading]]) -> MetricsServer:
    return metrics_server.serve(listen, [LiveCollector(release, read)])


def reading(trial: str = "vitis-1", **changes: object) -> Reading:
    values: dict[str, object] = {
        "trial": trial,
        "system": "vitis",
        "state": "running",
        "time_s": 12.5,
        "end_s": 80.0,
        "peers_up": 1,
        "joined": 2,
        "asked": 3,
        "delivered": 4,
        "sent": 6,
        "dropped": 7,
        "lost_spans": 8,
        "timer_lateness_max_s": 0.009,
        "hosts": {"ready": 10, "lost": 11},
        "cpu_s": 1.5,
        "histograms": {name: tally(*range(1, len(bounds) + 2)) for name, bounds in BOUNDS.items()},
        "sent_of_kind": {"event": 2, "maintenance": 4},
        "delivered_in_region": {"eu": 7, "us": 3},
        "up_in_region": {"eu": 1, "us": 0},
        "slowest": [HostReading("host-3", 4, 5, 0.25, 0.009)],
    }
    return Reading(**values | changes)  # type: ignore[arg-type]


def scrape(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text: str = answer.read().decode()
    return text


def samples(readings: Sequence[Reading]) -> dict[tuple[str, ...], float]:
    """Return the values by name and labels other than the release, in the order of their keys."""
    with serve("127.0.0.1:0", "demo", lambda: readings) as server:
        text = scrape(server.port)
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert sample.labels.pop("release") == "demo"
            found[(sample.name, *(value for _, value in sorted(sample.labels.items())))] = sample.value
    return found


def test_a_scrape_tells_of_everything_that_was_read() -> None:
    values = samples([reading()])
    told = {
        name: value
        for (name, *_), value in values.items()
        if name != "trellis_hosts" and not name.startswith(("trellis_kind_", "trellis_region_"))
    }
    assert {name: value for name, value in told.items() if not name.endswith("_bucket")} == {
        "trellis_trial_time_seconds": 12.5,
        "trellis_trial_end_seconds": 80,
        "trellis_peers_up": 1,
        "trellis_joins_total": 2,
        "trellis_operations_total": 3,
        "trellis_deliveries_total": 4,
        "trellis_messages_sent_total": 6,
        "trellis_envelopes_dropped_total": 7,
        "trellis_spans_lost_total": 8,
        "trellis_timer_lateness_max_seconds": 0.009,
        "trellis_trial_info": 1,
        "trellis_hosts_cpu_seconds_total": 1.5,
        "trellis_host_peers_up": 4,
        "trellis_host_messages_sent_total": 5,
        "trellis_host_cpu_seconds_total": 0.25,
        "trellis_host_timer_lateness_max_seconds": 0.009,
        "trellis_timer_lateness_seconds_count": 120,
        "trellis_timer_lateness_seconds_sum": 12,
        "trellis_delay_error_seconds_count": 120,
        "trellis_delay_error_seconds_sum": 12,
        "trellis_delivery_delay_seconds_count": 120,
        "trellis_delivery_delay_seconds_sum": 12,
        "trellis_delivery_hops_count": 105,
        "trellis_delivery_hops_sum": 12,
    }
    assert values[("trellis_delivery_hops_bucket", "2.0", "vitis-1")] == 1 + 2 + 3
    assert values[("trellis_delivery_hops_bucket", "+Inf", "vitis-1")] == 105
    assert values[("trellis_host_peers_up", "host-3", "vitis-1")] == 4
    assert values[("trellis_kind_messages_sent_total", "event", "vitis-1")] == 2
    assert values[("trellis_kind_messages_sent_total", "maintenance", "vitis-1")] == 4
    assert values[("trellis_region_deliveries_total", "eu", "vitis-1")] == 7
    assert values[("trellis_region_peers_up", "us", "vitis-1")] == 0
    assert ("trellis_trial_info", "running", "vitis", "vitis-1") in values


def test_a_bucket_has_the_trace_of_an_outcome_where_the_scraper_reads_open_metrics() -> None:
    with serve("127.0.0.1:0", "demo", lambda: [reading()]) as server:
        address = f"http://127.0.0.1:{server.port}/metrics"
        accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
        with urlopen(Request(address, headers=accept), timeout=5) as answer:
            text = answer.read().decode()
    (hops,) = [family for family in open_metrics(text) if family.name == "trellis_delivery_hops"]
    traced = {sample.labels["le"]: sample.exemplar for sample in hops.samples if sample.exemplar}
    assert list(traced) == ["2.0"]
    assert traced["2.0"].labels == {"trace_id": f"{7:032x}"}
    assert (traced["2.0"].value, float(traced["2.0"].timestamp)) == (2.0, 1e9)


def test_every_state_of_a_host_has_a_sample_so_that_none_lingers() -> None:
    values = samples([reading()])
    counts = {state: values[("trellis_hosts", state, "vitis-1")] for state in HOST_STATES}
    assert counts == {"starting": 0, "ready": 10, "restarted": 0, "lost": 11, "finished": 0}


def test_trials_are_told_apart() -> None:
    values = samples([reading("a", peers_up=1), reading("b", peers_up=2)])
    assert values[("trellis_peers_up", "a")] == 1
    assert values[("trellis_peers_up", "b")] == 2


def test_a_scrape_sees_the_moment_and_not_the_start() -> None:
    readings = [reading(peers_up=1)]
    with serve("127.0.0.1:0", "demo", lambda: readings) as server:
        readings[0] = reading(peers_up=99)
        assert 'trellis_peers_up{release="demo",trial="vitis-1"} 99.0' in scrape(server.port)


def test_without_a_trial_a_scrape_is_empty_and_no_error() -> None:
    assert samples([]) == {}


def test_a_failing_read_fails_the_scrape_and_not_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    readings: list[Reading] = []

    def read() -> Sequence[Reading]:
        if not readings:
            raise RuntimeError("not now")
        return readings

    with serve("127.0.0.1:0", "demo", read) as server:
        with pytest.raises(HTTPError, match="500"):
            scrape(server.port)
        readings.append(reading())
        assert "trellis_peers_up" in scrape(server.port)
    assert "not now" in capsys.readouterr().err


def test_only_the_given_address_is_bound_and_given_back() -> None:
    with serve("127.0.0.1:0", "demo", lambda: [reading()]) as server:
        port = server.port
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=2)
        with pytest.raises(OSError, match="in use"):
            serve(f"127.0.0.1:{port}", "demo", lambda: [])
    with pytest.raises(URLError):
        scrape(port)
    assert not [thread for thread in threading.enumerate() if thread.name == "metrics"]


@pytest.mark.parametrize("listen", ["9100", ":9100", "localhost:", "127.0.0.1:http"])
def test_what_is_no_address_is_refused(listen: str) -> None:
    with pytest.raises(ValueError, match=r"127\.0\.0\.1:9100"):
        serve(listen, "demo", lambda: [])


@pytest.fixture
def coordinator() -> Coordinator:
    coordinator = Coordinator(spec_of(5), plan_of(5), "experiment", "vitis-1")
    begin(coordinator)
    return coordinator


def progress(host: str, **values: float) -> control_pb2.HostProgress:
    return control_pb2.HostProgress(host=host, **values)  # type: ignore[arg-type]


def read(coordinator: Coordinator, at_s: float = 2.0) -> Reading:
    (found,) = read_live(coordinator, round(at_s * SECOND))
    return found


def test_a_reading_sums_up_the_hosts(coordinator: Coordinator) -> None:
    coordinator.note_progress(
        progress("host-0", peers_up=3, joined=4, sent=10, delivered=1, timer_lateness_max_s=0.02), 2 * SECOND
    )
    coordinator.note_progress(
        progress("host-1", peers_up=2, sent=5, dropped=1, lost_spans=2, timer_lateness_max_s=0.03), 2 * SECOND
    )
    assert coordinator.start_ns is not None
    found = read(coordinator, coordinator.start_ns / SECOND + 3)
    assert (found.trial, found.system, found.state) == ("vitis-1", "vitis", "running")
    assert (found.peers_up, found.joined, found.sent, found.delivered) == (5, 4, 15, 1)
    assert (found.dropped, found.lost_spans, found.timer_lateness_max_s) == (1, 2, 0.03)
    assert (found.time_s, found.end_s) == (pytest.approx(3.0), 10.0)
    assert found.hosts == {"ready": 2}


def test_deliveries_and_peers_are_told_by_region_also_after_a_restart() -> None:
    spec = spec_of(4, network={"regions": [{"name": "us", "share": 0.5}, {"name": "eu", "share": 0.5}]})
    coordinator = Coordinator(spec, draw_plan(spec), "experiment", "vitis-1")
    begin(coordinator)
    for host, delivered, up in (("host-0", [3, 1], [1, 1]), ("host-1", [2, 0], [2, 0])):
        told = control_pb2.HostProgress(host=host, delivered_in_region=delivered, up_in_region=up)
        coordinator.note_progress(told, 2 * SECOND)
    found = read(coordinator)
    assert found.delivered_in_region == {"eu": 5, "us": 1}
    assert found.up_in_region == {"eu": 3, "us": 1}
    again = control_pb2.Registration(host="host-1", address="127.0.0.1:2", start="another")
    coordinator.register(again, 3 * SECOND)
    told = control_pb2.HostProgress(host="host-1", delivered_in_region=[1, 1], up_in_region=[1, 0])
    coordinator.note_progress(told, 4 * SECOND)
    found = read(coordinator)
    assert (found.delivered_in_region, found.up_in_region) == ({"eu": 6, "us": 2}, {"eu": 2, "us": 1})


def test_a_host_is_told_the_regions_of_its_peers_and_none_of_a_trial_with_too_many() -> None:
    names = [f"region-{number:02}" for number in range(MOST_REGIONS + 1)]
    for count, told in ((2, 2), (MOST_REGIONS + 1, 0)):
        regions = [{"name": name, "share": 1 / count} for name in names[:count]]
        spec = spec_of(2 * count, network={"regions": regions})
        coordinator = Coordinator(spec, draw_plan(spec), "experiment", "vitis-1")
        assignment = register(coordinator, "host-0")
        assert (assignment.region_count, len(set(assignment.regions.values()))) == (told, told)
        assert set(assignment.regions) <= set(range(0, 2 * count, 2))


def test_trial_time_ends_with_the_trial(coordinator: Coordinator) -> None:
    assert read(coordinator, 3600).time_s == 10.0


def test_peers_of_a_lost_host_are_up_no_more_and_what_they_did_counts(coordinator: Coordinator) -> None:
    coordinator.note_progress(progress("host-0", peers_up=3, sent=10), 2 * SECOND)
    coordinator.note_progress(progress("host-1", peers_up=2, sent=5), 2 * SECOND)
    coordinator.lose("host-0", "silent")
    found = read(coordinator)
    assert (found.peers_up, found.sent) == (2, 15)


def test_counts_do_not_fall_when_a_host_is_started_anew(coordinator: Coordinator) -> None:
    coordinator.note_progress(progress("host-0", sent=10), 2 * SECOND)
    coordinator.note_progress(progress("host-1", sent=7), 2 * SECOND)
    assert read(coordinator).sent == 17
    again = control_pb2.Registration(host="host-1", address="127.0.0.1:2", start="another")
    coordinator.register(again, 3 * SECOND)
    assert read(coordinator).sent == 17
    coordinator.note_progress(progress("host-1", sent=2), 4 * SECOND)
    assert [read(coordinator).sent for _ in range(2)] == [19, 19]
    assert coordinator.progress(4 * SECOND).messages == 19
    coordinator.register(control_pb2.Registration(host="host-1", address="x:1", start="third"), 5 * SECOND)
    assert read(coordinator).sent == coordinator.progress(5 * SECOND).messages == 19


def test_the_next_trial_begins_at_nothing(coordinator: Coordinator) -> None:
    coordinator.note_progress(progress("host-0", sent=10), 2 * SECOND)
    assert read(coordinator).sent == 10
    assert read_live(None, 3 * SECOND) == []
    following = Coordinator(spec_of(5), plan_of(5), "experiment", "vitis-2")
    assert (read(following).trial, read(following).sent) == ("vitis-2", 0)


def test_hosts_and_the_trial_are_told_by_how_they_stand() -> None:
    coordinator = Coordinator(spec_of(5), plan_of(5), "experiment", "vitis-1")
    register(coordinator, "host-0")
    found = read(coordinator)
    assert (found.state, found.hosts) == ("starting", {"starting": 2})
    begin(coordinator)
    coordinator.lose("host-0", "silent")
    found = read(coordinator)
    assert (found.state, found.hosts) == ("running", {"lost": 1, "ready": 1})
    coordinator.finish(result("host-1"), 2 * SECOND)
    found = read(coordinator)
    assert (found.state, found.hosts) == ("ending", {"lost": 1, "finished": 1})


def test_a_host_that_came_back_unplanned_is_shown_as_restarted(coordinator: Coordinator) -> None:
    coordinator.register(control_pb2.Registration(host="host-1", address="x:2", start="another"), 3 * SECOND)
    assert read(coordinator).hosts == {"ready": 1, "starting": 1}
    coordinator.ready(control_pb2.Ready(host="host-1"), 4 * SECOND)
    assert read(coordinator).hosts == {"ready": 1, "restarted": 1}


def histogram(*counts: int, name: str = "hops", total: float = 1.0) -> control_pb2.Histogram:
    return control_pb2.Histogram(counts=[*counts, *[0] * (len(BOUNDS[name]) + 1 - len(counts))], sum=total)


def test_histograms_and_processor_time_are_summed_over_hosts_and_over_their_starts(
    coordinator: Coordinator,
) -> None:
    def report(host: str, hops: control_pb2.Histogram, cpu_s: float) -> None:
        told = control_pb2.HostProgress(host=host, hops=hops, cpu_s=cpu_s)
        coordinator.note_progress(told, 2 * SECOND)

    def sent(host: str, **kinds: int) -> None:
        told = control_pb2.HostProgress(host=host, sent_of_kind=kinds)
        coordinator.note_progress(told, 2 * SECOND)

    sent("host-0", event=1)
    sent("host-0", event=3, control=1)
    sent("host-1", event=2)
    assert read(coordinator).sent_of_kind == {"event": 5, "control": 1}
    report("host-0", histogram(1, 2, total=2), 0.5)
    report("host-0", histogram(1, 5, total=5), 0.75)
    report("host-1", histogram(0, 1, total=1), 0.25)
    again = control_pb2.Registration(host="host-1", address="127.0.0.1:2", start="another")
    coordinator.register(again, 3 * SECOND)
    report("host-1", histogram(3, total=0), 0.125)
    found = read(coordinator)
    assert (found.histograms["hops"].counts[:3], found.histograms["hops"].sum) == ([4, 6, 0], 6)
    assert found.cpu_s == 0.75 + 0.25 + 0.125


def test_a_host_has_series_once_it_has_told_something_and_until_it_is_lost(coordinator: Coordinator) -> None:
    assert not read(coordinator).slowest
    coordinator.note_progress(progress("host-1", peers_up=2, sent=5, cpu_s=0.5), 2 * SECOND)
    assert list(read(coordinator).slowest) == [HostReading("host-1", 2, 5, 0.5, 0.0)]
    coordinator.lose("host-1", "silent")
    assert not read(coordinator).slowest


def test_of_many_hosts_the_slowest_alone_have_series() -> None:
    hosts = MOST_HOSTS + 5
    spec = spec_of(hosts, runtime={"kind": "kubernetes", "hosts": hosts})
    coordinator = Coordinator(spec, plan_of(hosts), "experiment", "vitis-1")
    for index in range(hosts):
        told = progress(f"host-{index}", timer_lateness_max_s=index)
        coordinator.note_progress(told, 2 * SECOND)
    shown = [host.host for host in read(coordinator).slowest]
    assert shown == [f"host-{index}" for index in range(5, hosts)]


def test_the_newest_exemplar_of_a_bound_counts(coordinator: Coordinator) -> None:
    for host, trace, at_s in (("host-0", 1, 10.0), ("host-1", 2, 12.0), ("host-0", 3, 11.0)):
        exemplar = control_pb2.Exemplar(bound=1, trace_id=bytes([trace] * 16), value=1.0, at_s=at_s)
        told = control_pb2.HostProgress(host=host, hops=control_pb2.Histogram(exemplars=[exemplar]))
        coordinator.note_progress(told, 2 * SECOND)
    assert read(coordinator).histograms["hops"].exemplars[1].trace_id == bytes([2] * 16)
