"""Serves the results of a run over HTTP:

`python -m services.results --run /var/lib/trellis/run --listen 127.0.0.1:8080`

`/` is the report, or how far the run is; `/status` the same as JSON; `/run.tar.zst` the run directory;
`/runs` the earlier runs of a schedule as JSON, and `/runs/<run>/run.tar.zst` one of them; `/healthz` says
that the service lives. All but the last ask for the token, if there is one: as a bearer, as the password of a
browser (any user), or in the header X-Trellis-Token, which proxies leave alone.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hmac
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from emulator.experiment.run.archive import pack
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.earlier_runs import earlier_runs
from emulator.network.http_server import BoundedHandler, BoundedServer
from emulator.network.listening import host_and_port
from emulator.network.loopback import bracketed, loopback
from emulator.network.metrics_server import BadAddress, ProcessMetrics, serve
from emulator.network.refusal_metrics import RefusalMetrics
from emulator.tracing.spans import NOTHING, span
from emulator.tracing.tracer import Span
from emulator.trials.run_metrics import RunCollector
from emulator.trials.run_page import waiting_page
from emulator.trials.run_progress import Reader
from emulator.trust.credentials import NoCredentials, read_token
from emulator.trust.refusals import BAD_TOKEN, Refusals
from services.endings import in_words
from services.self_telling import tell_of_self
from trellis.command.labels import trial_labels_of
from trellis.command.local_runs import about_of

_MAX_ARCHIVES = 2
_TOKEN_HEADER = "X-Trellis-Token"
_END_LIMIT = 20.0
"""The seconds that requests have to end when the service is asked to."""
_HTML, _JSON, _TEXT, _ARCHIVE = (
    "text/html; charset=utf-8",
    "application/json",
    "text/plain",
    "application/zstd",
)


class ResultsServer(BoundedServer):
    """A server that answers from one run directory, which may not exist yet."""

    def __init__(self, host: str, port: int, run: RunDirectory, token: str = "") -> None:
        """Listen at once; port 0 takes a free one. Without a token everybody may read.

        Raises OSError if the server cannot listen.
        """
        self.run = run
        self.token = token
        self.archives = threading.BoundedSemaphore(_MAX_ARCHIVES)
        self._reader = Reader(run, labels=trial_labels_of)
        self._reading = threading.Lock()
        super().__init__(host, port, _Handler)

    def expect(self, experiment: Path) -> None:
        """Show nothing of a run of another experiment."""
        self._reader = Reader(self.run, experiment, labels=trial_labels_of)

    def standing(self) -> Any:
        with self._reading:
            return self._reader.read()


class _Handler(BoundedHandler):
    """One request. The path is looked up, never joined to a folder."""

    server: ResultsServer
    _span: Span = NOTHING
    """The span of the request."""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        routes = {
            "/": self._page,
            "/status": self._status,
            "/run.tar.zst": lambda: self._archive(self.server.run),
            "/runs": self._earlier,
            "/healthz": self._health,
        }
        path = self.path.partition("?")[0]
        route = routes.get(path) or self._archive_at(path)
        if route is None:
            self._answer(
                HTTPStatus.NOT_FOUND, _TEXT, b"there is /, /status, /run.tar.zst, /runs and /healthz\n"
            )
        elif route == self._health:
            route()
        else:
            self._tell(route)

    def _tell(self, route: Callable[[], None]) -> None:
        """Answer a request that is told to operators, if it may read."""
        path = self.path.partition("?")[0]
        about = {
            "http.request.method": self.command,
            "url.path": path,
            "client.address": self.client_address[0],
        }
        with span(f"{self.command} {path}", about, serving=True) as self._span:
            if self._may_read():
                route()
            else:
                self.server.refusals.add(BAD_TOKEN)
                self._answer(
                    HTTPStatus.UNAUTHORIZED, _TEXT, b"the results ask for the token of this release\n"
                )

    def _may_read(self) -> bool:
        """Return whether the request shows the token; the time of the check tells nothing of the token."""
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        shown = value.strip().encode() if scheme.lower() == "bearer" else b""
        if scheme.lower() == "basic":
            with contextlib.suppress(ValueError):  # no base64, or not ASCII
                shown = base64.b64decode(value, validate=True).partition(b":")[2]
        shown = shown or self.headers.get(_TOKEN_HEADER, "").encode()
        return not self.server.token or hmac.compare_digest(shown, self.server.token.encode())

    def do_HEAD(self) -> None:
        self.do_GET()

    def _page(self) -> None:
        standing = self.server.standing()
        if standing.reported:
            self._answer(HTTPStatus.OK, _HTML, self.server.run.report.read_bytes())
        else:
            self._answer(HTTPStatus.OK, _HTML, waiting_page(standing).encode())

    def _status(self) -> None:
        self._answer(HTTPStatus.OK, _JSON, self.server.standing().to_json().encode())

    def _health(self) -> None:
        self._answer(HTTPStatus.OK, _TEXT, b"ok\n")

    def _earlier(self) -> None:
        found = [{"run": run.path.name, **about_of(run)} for run in earlier_runs(self.server.run)]
        self._answer(HTTPStatus.OK, _JSON, json.dumps(found).encode())

    def _archive_at(self, path: str) -> Callable[[], None] | None:
        """Return what sends the archive of an earlier run; None if there is none at this path."""
        if not path.startswith("/runs/"):
            return None
        paths = {f"/runs/{run.path.name}/run.tar.zst": run for run in earlier_runs(self.server.run)}
        return partial(self._archive, paths[path]) if path in paths else None

    def _archive(self, run: RunDirectory) -> None:
        if not run.experiment.is_file():
            self._answer(HTTPStatus.NOT_FOUND, _TEXT, b"the coordinator has not begun yet\n")
            return
        if not self.server.archives.acquire(blocking=False):
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, b"it is being fetched by others; try again\n")
            return
        try:
            self._start(HTTPStatus.OK, _ARCHIVE)
            chunked = self.request_version != "HTTP/1.0"
            if chunked:
                self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if self.command != "HEAD":
                pack(run.path, _Chunks(self.wfile) if chunked else self.wfile)
                if chunked:
                    self.wfile.write(b"0\r\n\r\n")
        finally:
            self.server.archives.release()

    def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self._start(status, content_type)
        self.send_header("Content-Length", str(len(body)))
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="Trellis", charset="UTF-8"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _start(self, status: HTTPStatus, content_type: str) -> None:
        self.close_connection = True
        self._span.set({"http.response.status_code": int(status)})
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Connection", "close")

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        if getattr(self, "path", "") != "/healthz":  # a malformed request has no path
            super().log_request(code, size)


class _Chunks:
    """HTTP's chunked transfer coding, by which a client sees that a stream broke off."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def write(self, data: bytes) -> int:
        if data:
            self._sink.write(b"%x\r\n%b\r\n" % (len(data), data))
        return len(data)


@in_words
def main() -> int:
    """Serve until SIGTERM. The exit status is 0, or 1 if the address cannot be listened to."""
    parser = argparse.ArgumentParser(description="The results of a run over HTTP")
    parser.add_argument("--run", type=Path, required=True, help="the run directory; it may come later")
    parser.add_argument("--experiment", type=Path, help="the file of the experiment that the run is to be of")
    parser.add_argument(
        "--listen", default=os.environ.get("TRELLIS_LISTEN") or f"{bracketed(loopback())}:8080"
    )
    parser.add_argument("--token", type=Path, help="file with the token that readers show")
    parser.add_argument("--metrics", help="address:port to serve Prometheus at, which needs no token")
    arguments = parser.parse_args()
    try:
        host, port = host_and_port(arguments.listen)
    except ValueError as error:
        parser.error(f"--listen: {error}")
    try:
        tell_of_self("results")
        token = read_token(arguments.token) if arguments.token is not None else ""
        server = ResultsServer(host, port, RunDirectory(arguments.run), token)
        metrics = _metrics_of(server, arguments.metrics)
    except (NoCredentials, BadAddress) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"cannot listen on {error.filename or arguments.listen}: {error.strerror}", file=sys.stderr)
        return 1
    if arguments.experiment is not None:
        server.expect(arguments.experiment)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on {bracketed(host)}:{server.server_address[1]}", flush=True)
    with server, metrics:
        server.serve_forever()
    return 0 if server.drain(_END_LIMIT) else 1


def _metrics_of(server: ResultsServer, listen: str | None) -> AbstractContextManager[object]:
    """Serve metrics of the server's run at an address, if one is given. Raises BadAddress and OSError."""
    if listen is None:
        return contextlib.nullcontext()
    run = server.run.path
    release = os.environ.get("TRELLIS_RELEASE", run.name)
    volume = run.resolve().parent  # the coordinator has not made the run directory yet
    own = Refusals()
    collectors = [
        RunCollector(release, server.standing, volume),
        ProcessMetrics(release, "results"),
        RefusalMetrics(release, "results", [server.refusals, own]),
    ]
    return serve(listen, collectors, own)


if __name__ == "__main__":
    sys.exit(main())
