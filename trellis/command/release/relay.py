"""The pages of a release's results at a port of this machine, so that a browser need not know the token."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from emulator.network.loopback import bracketed, family_of, loopback
from trellis.command.release.errors import ReleaseError
from trellis.command.release.results_client import Results

_PAGES = {"/": "", "/status": "status"}
"""The pages that a browser may ask for, with their paths at the results service."""
_SILENCE_LIMIT = 30.0
_PIECE = 1 << 16
_PASSED = ("Content-Type", "Content-Length")


class Relay:
    """A server at a port of this machine alone, which closing gives back."""

    def __init__(self, results: Results) -> None:
        self._server = _Server(results)
        self.address = f"http://{self._server.names[0]}/"

    def __enter__(self) -> Relay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._server.server_close()

    def serve(self) -> None:
        """Serve until KeyboardInterrupt."""
        self._server.serve_forever()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, results: Results) -> None:
        self.results = results
        self.address_family = family_of(loopback())
        super().__init__((loopback(), 0), _Handler)
        self.names = tuple(
            f"{host}:{self.server_address[1]}" for host in (bracketed(loopback()), "localhost")
        )


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SILENCE_LIMIT
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.headers.get("Host") not in self.server.names:
            # The page of a stranger asks, by a name that leads to this machine.
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        page = _PAGES.get(self.path)
        if page is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            with self.server.results.read(page) as answer:
                self.send_response(answer.status)
                for header in _PASSED:
                    if header in answer.headers:
                        self.send_header(header, answer.headers[header])
                self.send_header("Cache-Control", "no-store")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.end_headers()
                while piece := answer.read(_PIECE):
                    self.wfile.write(piece)
        except ReleaseError as error:
            self.send_error(HTTPStatus.BAD_GATEWAY, explain=str(error))

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: pages that are shown are not worth a line each."""
