"""Asks whether services answer: `python -m services.reach http://demo-results:8080/status tcp://demo-collector:4317`."""

from __future__ import annotations

import argparse
import http.client
import socket
import sys
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

_ANSWER_LIMIT = 10.0
_PAUSE = 1.0


def main() -> int:
    """Run the program. The exit status is 0 if all services answer in time, otherwise 1."""
    parser = argparse.ArgumentParser(description="Whether services answer")
    parser.add_argument(
        "addresses", nargs="+", metavar="URL", help="http://host:port/path or tcp://host:port"
    )
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for all of them (%(default)g)")
    arguments = parser.parse_args()
    for address in arguments.addresses:
        if not _can_be_reached(address):
            parser.error(f"{address} has to be http://host:port/path or tcp://host:port")
    deadline = time.monotonic() + arguments.limit
    silent = [address for address in arguments.addresses if not _await(address, deadline)]
    return 1 if silent else 0


def _can_be_reached(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "tcp") and bool(parts.hostname) and parts.port is not None
    except ValueError:  # brackets without an end, or a port that is none
        return False


def _await(address: str, deadline: float) -> bool:
    while problem := _problem(address):
        if time.monotonic() + _PAUSE > deadline:
            print(f"{address}: {problem}", file=sys.stderr)
            return False
        time.sleep(_PAUSE)
    print(f"{address}: answers", flush=True)
    return True


def _problem(address: str) -> str:
    """Return why a service does not answer, or ""."""
    parts = urlsplit(address)
    try:
        if parts.scheme == "tcp":
            socket.create_connection((parts.hostname or "", parts.port or 0), _ANSWER_LIMIT).close()
        else:
            urllib.request.urlopen(address, timeout=_ANSWER_LIMIT).close()
    except urllib.error.HTTPError as error:
        error.close()
        return f"status {error.code}"
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    return ""


if __name__ == "__main__":
    sys.exit(main())
