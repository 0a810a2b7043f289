"""A forwarded port to a service: no NetworkPolicy stops it, as it comes from the pod's own node."""

from __future__ import annotations

import re
import selectors
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import urllib3

from emulator.network.loopback import bracketed, loopback
from trellis.command.release.errors import NotThere, ReleaseError, Unreachable

_START_LIMIT = 15.0
_END_LIMIT = 5.0
_CONNECT_LIMIT, _ANSWER_LIMIT = 5.0, 30.0
"""The seconds to a connection, and between two bytes of an answer."""
_SAID = re.compile(rb"Forwarding from (?:127\.0\.0\.1|\[::1\]):(\d+) ")


@contextmanager
def forwarded(context: str, namespace: str, service: str, port: int) -> Iterator[str]:
    """Yield the address of a service on this machine, for as long as it is used.

    Raises Unreachable if it cannot be forwarded, NotThere without the program kubectl.
    """
    program = shutil.which("kubectl")
    if program is None:
        raise NotThere("the program kubectl is not on the PATH")
    command = [program, "--context", context, "--namespace", namespace, "port-forward"]
    command += ["--address", loopback(), f"service/{service}", f":{port}"]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            yield f"{bracketed(loopback())}:{_await_port(process)}"
        finally:
            process.terminate()
            try:
                process.wait(_END_LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def read(address: str, path: str, headers: dict[str, str]) -> Iterator[urllib3.BaseHTTPResponse]:
    """Yield an answer to be read piece by piece. Raises Unreachable, and ReleaseError if it is refused."""
    timeout = urllib3.Timeout(connect=_CONNECT_LIMIT, read=_ANSWER_LIMIT)
    with urllib3.PoolManager(retries=False, timeout=timeout) as pool:
        try:
            answer = pool.request("GET", f"http://{address}/{path}", headers=headers, preload_content=False)
            try:
                if answer.status >= 500:
                    raise Unreachable(f"/{path}: {answer.data.decode(errors='replace').strip()}")
                if answer.status >= 400:
                    raise ReleaseError(f"/{path}: {answer.data.decode(errors='replace').strip()}")
                yield answer
            finally:
                answer.close()
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"/{path}: {error}") from None


def _await_port(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    said = b""
    deadline = time.monotonic() + _START_LIMIT
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(max(deadline - time.monotonic(), 0)):
            piece = process.stdout.read1(4096)  # type: ignore[attr-defined]
            said += piece
            if found := _SAID.search(said):
                return int(found[1])
            if not piece:
                break
    raise Unreachable(f"kubectl port-forward: {said.decode(errors='replace').strip() or 'it said nothing'}")
