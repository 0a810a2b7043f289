"""The page of a run on this machine that has no report yet: how far it is, and then its report."""

from __future__ import annotations

import shlex
from http import HTTPStatus
from typing import Any

from emulator.experiment.run.directory import RunDirectory
from emulator.network.http_server import BoundedHandler, BoundedServer
from emulator.network.loopback import bracketed, loopback
from emulator.trials.run_page import waiting_page
from emulator.trials.run_progress import Reader
from emulator.trials.sweep import is_busy
from trellis.command.labels import trial_labels_of


class LivePage(BoundedServer):
    """A server at a free port of loopback, which any user of this machine may ask while it runs."""

    def __init__(self, run: RunDirectory) -> None:
        """Listen at once. Raises OSError if that is not possible."""
        self.run = run
        super().__init__(loopback(), 0, _Handler)

    @property
    def address(self) -> str:
        return f"http://{bracketed(loopback())}:{self.server_address[1]}/"

    def page(self) -> bytes:
        """Return the page as it is now. Raises OSError if the run cannot be read."""
        standing = Reader(self.run, any_system=True, labels=trial_labels_of).read()
        if is_busy(self.run):
            return waiting_page(standing).encode()
        if standing.reported:
            return self.run.report.read_bytes()
        name = shlex.quote(str(self.run.path))
        return waiting_page(standing, f"Nothing runs. See what it lacks: trellis status {name}").encode()


class _Handler(BoundedHandler):
    server: LivePage

    def do_GET(self) -> None:
        if self.path != "/":
            self._answer(HTTPStatus.NOT_FOUND, b"there is / alone\n", "text/plain")
            return
        try:
            self._answer(HTTPStatus.OK, self.server.page(), "text/html; charset=utf-8")
        except OSError as error:
            told = f"the run cannot be read: {error}\n".encode()
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, told, "text/plain; charset=utf-8")

    def _answer(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Say nothing: the terminal is the user's."""
