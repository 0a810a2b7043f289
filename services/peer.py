"""A host of a real-time trial: `python -m services.peer --name host-0 --coordinator 127.0.0.1:40000`.

In a pod (`--stay`) its name follows from the pod's.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

import grpc.aio

from emulator.fleet.host import stop_signals
from emulator.fleet.host.end_with_parent import end_with_parent
from emulator.fleet.host.program import Place, run_host
from emulator.network.listening import for_grpc
from emulator.network.loopback import any_port
from emulator.telemetry.endpoint import BadEndpoint, open_channel
from emulator.telemetry.recorder import SinkFactory
from emulator.trust.credentials import Credentials, NoCredentials
from services.credential_options import add_connections, add_options, credentials_of
from services.endings import in_words
from services.self_telling import tell_of_self

_MOST_DIGITS = 5
_HOLD, _LONGEST_HOLD = 0.02, 4.0
"""The seconds by which each host sends its telemetry later than the one before it, and the most seconds."""


@in_words
def main() -> int:
    """Run the program. The exit status is 0, or 1 if the host could not do its work."""
    parser = argparse.ArgumentParser(description="A host of a real-time trial")
    environment = os.environ.get
    parser.add_argument("--name", default=_name_in_fleet(), help="such as host-0")
    parser.add_argument("--coordinator", default=environment("TRELLIS_COORDINATOR"), help="address:port")
    parser.add_argument("--listen", type=for_grpc, default=environment("TRELLIS_LISTEN") or any_port())
    parser.add_argument("--telemetry", type=Path, default=Path("telemetry"), help="folder for OTLP files")
    parser.add_argument(
        "--collector", default=environment("TRELLIS_COLLECTOR"), help="send there instead: http://host:4317"
    )
    add_options(parser)
    add_connections(parser)
    parser.add_argument("--parent", type=int, help="process with which this one ends")
    parser.add_argument("--stay", action="store_true", help="take part in trials until SIGTERM")
    arguments = parser.parse_args()
    if not arguments.name or not arguments.coordinator:
        parser.error("--name and --coordinator are needed")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop_signals.watch()
    if arguments.parent is not None:
        end_with_parent(arguments.parent)
    try:
        tell_of_self("host", arguments.name)
        credentials = credentials_of(arguments, arguments.connections)
        if arguments.collector is not None:
            open_channel(arguments.collector).close()  # to refuse a bad address before any trial
    except (NoCredentials, BadEndpoint) as error:
        print(error, file=sys.stderr)
        return 1
    place = Place(
        arguments.name,
        arguments.coordinator,
        arguments.listen,
        arguments.telemetry,
        _sink(arguments.collector, arguments.name, credentials),
        stay=arguments.stay,
        netem=environment("TRELLIS_NETEM") == "1",
        credentials=credentials,
    )
    try:
        problem = asyncio.run(run_host(place))
    except grpc.aio.AioRpcError as error:
        problem = f"coordinator {arguments.coordinator}: {error.code().name}, {error.details()}"
    except TimeoutError:
        problem = f"coordinator {arguments.coordinator}: it does not answer"
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


def _name_in_fleet() -> str | None:
    """Return the host's name by TRELLIS_POD, the pod's name in its StatefulSet, and TRELLIS_HOST_OFFSET.

    The offset is the number of the set's first host. Returns None outside of a pod.
    """
    ordinal = os.environ.get("TRELLIS_POD", "").rpartition("-")[2]
    numbers = (ordinal, os.environ.get("TRELLIS_HOST_OFFSET", "0"))
    if not all(number.isdecimal() and len(number) <= _MOST_DIGITS for number in numbers):
        return None
    return f"host-{sum(map(int, numbers))}"


def _sink(collector: str | None, name: str, credentials: Credentials) -> SinkFactory:
    if collector is None:
        from emulator.telemetry.otlp_files import BackgroundSink

        return BackgroundSink
    from emulator.telemetry.exporter import Exporter

    number = name.rpartition("-")[2]
    hold = int(number) * _HOLD % _LONGEST_HOLD if number.isdecimal() else 0.0
    return Exporter(collector, hold=hold, certificates=credentials.certificates)


if __name__ == "__main__":
    sys.exit(main())
