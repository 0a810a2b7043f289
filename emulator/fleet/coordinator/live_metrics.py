"""Metrics for Prometheus of trials while they run, from what the coordinator knows."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import MetricsHandler
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)

from emulator.files.disk import naming
from emulator.network.http_server import BoundedHandler, BoundedServer
from emulator.network.listening import ALL, host_and_port

_STOP_LIMIT = 5.0
_POLL = 0.1
"""The most seconds until the server notices that it is to stop."""
HOST_STATES = ("starting", "ready", "restarted", "lost", "finished")
"""The states of a host; a host is in one of them. "restarted" means ready again after it was away."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One trial at one moment, summed over its hosts. Counts are since the trial began and never fall."""

    trial: str
    system: str
    state: str
    """The state of the trial, "running" for instance."""
    time_s: float
    """The trial time in seconds."""
    end_s: float
    """The trial time in seconds at which the trial is over."""
    peers_up: int
    joined: int
    asked: int
    """Operations that peers began."""
    delivered: int
    sent: int
    """The messages that peers sent."""
    dropped: int
    """The envelopes that hosts dropped."""
    lost_spans: int
    timer_lateness_max_s: float
    """The greatest lateness of a timer at any host, in wall seconds."""
    hosts: Mapping[str, int]
    """The number of hosts in each of `HOST_STATES`."""


_GAUGES: list[tuple[str, str, Callable[[Reading], float]]] = [
    ("trellis_peers_up", "Peers that are up", lambda r: r.peers_up),
    ("trellis_trial_time_seconds", "Trial time", lambda r: r.time_s),
    ("trellis_trial_end_seconds", "Trial time at which the trial is over", lambda r: r.end_s),
    (
        "trellis_timer_lateness_max_seconds",
        "Wall time by which the latest timer of any host was late",
        lambda r: r.timer_lateness_max_s,
    ),
]
_COUNTERS: list[tuple[str, str, Callable[[Reading], float]]] = [
    ("trellis_joins", "Joins of peers", lambda r: r.joined),
    ("trellis_operations", "Operations that peers began, such as publications", lambda r: r.asked),
    ("trellis_deliveries", "Outcomes, such as events that reached a subscriber", lambda r: r.delivered),
    ("trellis_messages_sent", "Messages that peers sent", lambda r: r.sent),
    ("trellis_envelopes_dropped", "Envelopes that hosts dropped, which is a fault", lambda r: r.dropped),
    ("trellis_spans_lost", "Spans that could not be written, which is a fault", lambda r: r.lost_spans),
]


class BadAddress(ValueError):
    """The text is not an address that a server can listen on."""


class LiveCollector:
    """A collector that reads the state of the trials each time that Prometheus scrapes."""

    def __init__(self, release: str, read: Callable[[], Sequence[Reading]]) -> None:
        self._release = release
        self._read = read

    def collect(self) -> Iterable[Metric]:
        """Yield each metric with one sample for each trial, labelled by release and trial."""
        readings = self._read()
        labels = ["release", "trial"]
        for name, help_text, value in _GAUGES:
            gauge = GaugeMetricFamily(name, help_text, labels=labels)
            for reading in readings:
                gauge.add_metric([self._release, reading.trial], value(reading))
            yield gauge
        for name, help_text, value in _COUNTERS:
            counter = CounterMetricFamily(name, help_text, labels=labels)
            for reading in readings:
                counter.add_metric([self._release, reading.trial], value(reading))
            yield counter
        hosts = GaugeMetricFamily("trellis_hosts", "Hosts by state", labels=[*labels, "state"])
        trial = InfoMetricFamily("trellis_trial", "What a trial runs and how it stands", labels=labels)
        for reading in readings:
            for state in HOST_STATES:
                hosts.add_metric([self._release, reading.trial, state], reading.hosts.get(state, 0))
            trial.add_metric(
                [self._release, reading.trial], {"system": reading.system, "state": reading.state}
            )
        yield hosts
        yield trial


class _Handler(BoundedHandler, MetricsHandler):
    """One scrape. A scraper may take 10 s to read the answer; a reading that fails is answered with 500."""

    timeout = 10.0

    def do_GET(self) -> None:
        try:
            super().do_GET()
        except OSError:
            raise  # The scraper has gone, and nobody is left to answer.
        except Exception:
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)
            raise


class MetricsServer:
    """A server that answers Prometheus on one address until it is closed."""

    def __init__(self, server: BoundedServer) -> None:
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, args=(_POLL,), name="metrics", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_port

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering and give the port back."""
        self._server.shutdown()
        self._thread.join(_STOP_LIMIT)
        self._server.server_close()


def serve(listen: str, release: str, read: Callable[[], Sequence[Reading]]) -> MetricsServer:
    """Answer Prometheus at `listen` ("10.1.2.3:9100", "[::1]:0", "*:9100") and at no other address.

    The server calls `read` for each scrape, in a thread of its own. `release` is a label of every metric.
    Raises BadAddress if `listen` is not an address, OSError if it cannot be bound.
    """
    try:
        host, port = host_and_port(listen)
    except ValueError as error:
        raise BadAddress(str(error)) from None
    registry = CollectorRegistry()
    registry.register(LiveCollector(release, read))
    handler = _Handler.factory(registry)
    with naming(listen):
        if host != ALL:
            host = str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0])
        server = BoundedServer(host, port, handler)
    return MetricsServer(server)
