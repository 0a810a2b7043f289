"""A real server that speaks S3, on the loopback interface, with an empty bucket."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent.parent / ".venv-object-store" / "bin" / "moto_server"
"""The server of the package moto; it has an environment of its own, since it needs other versions."""
BUCKET = "runs"
SECRET = "a-secret-that-is-told-nowhere"
needs_object_store = pytest.mark.skipif(
    not PROGRAM.exists(), reason="needs a server for S3: make .venv-object-store/installed"
)
_LIMIT = 60.0


@contextmanager
def object_store() -> Iterator[str]:
    """Start the server, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [str(PROGRAM), "--host", "127.0.0.1", "--port", str(port)],
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + _LIMIT
        while True:
            try:
                request = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
                urllib.request.urlopen(request, timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                assert process.poll() is None and time.monotonic() < deadline, "the server does not start"
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def variables(address: str) -> dict[str, str]:
    """Return the variables by which programs find the server."""
    return {
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": address,
        "AWS_REGION": "us-east-1",
    }
