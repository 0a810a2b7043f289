"""A server that answers Prometheus, and the metrics that every program has of its own process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from types import TracebackType

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import MetricsHandler
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from emulator.files.disk import naming
from emulator.network.http_server import BoundedHandler, BoundedServer
from emulator.network.listening import ALL, host_and_port
from emulator.trust.refusals import Refusals

_STOP_LIMIT = 5.0
_POLL = 0.1
"""The most seconds until the server notices that it is to stop."""


class BadAddress(ValueError):
    """The text is not an address that a server can listen on."""


class ProcessMetrics(Collector):
    """The processor time, memory and open files of this process, under the names that all programs use."""

    def __init__(self, release: str, program: str) -> None:
        self._labels = {"release": release, "program": program}
        self._process = ProcessCollector(registry=None)

    def collect(self) -> Iterable[Metric]:
        """Yield each metric, labelled by release and program."""
        for metric in self._process.collect():
            metric.samples = [sample._replace(labels=self._labels) for sample in metric.samples]
            yield metric


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


def serve(listen: str, collectors: Sequence[Collector], refusals: Refusals | None = None) -> MetricsServer:
    """Answer Prometheus at `listen` ("10.1.2.3:9100", "[::1]:0", "*:9100") and at no other address.

    The server asks the collectors at each scrape, in a thread of its own, and counts in `refusals` what it
    refuses. Raises BadAddress if `listen` is not an address, OSError if it cannot be bound.
    """
    try:
        host, port = host_and_port(listen)
    except ValueError as error:
        raise BadAddress(str(error)) from None
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    handler = _Handler.factory(registry)
    with naming(listen):
        if host != ALL:
            host = str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0])
        server = BoundedServer(host, port, handler, refusals)
    return MetricsServer(server)
