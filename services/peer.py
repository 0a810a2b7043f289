"""A host of a real-time trial: `python -m services.peer --name host-0 --coordinator 127.0.0.1:40000`."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from emulator.fleet.member import Place, run_host
from emulator.fleet.parent import end_with_parent


def main() -> int:
    """Exit status: 0, or 1 if the host could not do its work."""
    parser = argparse.ArgumentParser(description="A host of a real-time trial")
    environment = os.environ.get
    parser.add_argument("--name", default=environment("TRELLIS_HOST"), help="such as host-0")
    parser.add_argument("--coordinator", default=environment("TRELLIS_COORDINATOR"), help="address:port")
    parser.add_argument("--listen", default=environment("TRELLIS_LISTEN", "127.0.0.1:0"))
    parser.add_argument("--telemetry", type=Path, default=environment("TRELLIS_TELEMETRY", "telemetry"))
    parser.add_argument("--systems", action="append", default=[], help="module that registers systems")
    parser.add_argument("--parent", type=int, help="process with which this one ends")
    arguments = parser.parse_args()
    if not arguments.name or not arguments.coordinator:
        parser.error("--name and --coordinator are needed")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if arguments.parent is not None:
        end_with_parent(arguments.parent)
    place = Place(
        arguments.name,
        arguments.coordinator,
        arguments.listen,
        Path(arguments.telemetry),
        arguments.systems,
    )
    error = asyncio.run(run_host(place))
    if error:
        print(error, file=sys.stderr)
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
