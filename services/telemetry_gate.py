"""The gate before the Collector of a release:

`python -m services.telemetry_gate --listen 10.0.0.1:4317 --collector 127.0.0.1:4316 --ticket-key FILE`
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from emulator.network.listening import for_grpc
from emulator.network.loopback import loopback
from emulator.network.metrics_server import BadAddress, ProcessMetrics, serve
from emulator.network.refusal_metrics import RefusalMetrics
from emulator.telemetry.collector_gate import ProgramsDoor, open_collector, serve_gate
from emulator.trust.credentials import Credentials, NoCredentials, read_token
from emulator.trust.refusals import Refusals
from emulator.trust.strangers import Strangers
from emulator.trust.tickets import key_of
from services.credential_options import add_certificates, add_connections, certificates_of
from services.endings import in_words
from services.self_telling import tell_of_self

_GRACE = 5.0
"""The seconds at the end for requests that are under way."""


@in_words
def main() -> int:
    """Serve until SIGTERM. The exit status is 0, or 1 if it could not serve."""
    parser = argparse.ArgumentParser(description="The gate before the Collector of a release")
    parser.add_argument(
        "--listen", type=for_grpc, default=os.environ.get("TRELLIS_LISTEN") or f"{loopback()}:4317"
    )
    parser.add_argument("--collector", required=True, help="address:port")
    parser.add_argument("--ticket-key", type=Path, required=True, help="file with the key of tickets")
    parser.add_argument("--programs-collector", help="address:port for what programs tell of themselves")
    parser.add_argument("--programs-token", type=Path, help="file with the token that these programs show")
    parser.add_argument("--metrics", help="address:port to serve Prometheus at")
    add_certificates(parser)
    add_connections(parser)
    arguments = parser.parse_args()
    if (arguments.programs_collector is None) != (arguments.programs_token is None):
        parser.error("--programs-collector and --programs-token are needed together")
    try:
        tell_of_self("gate")
        key = key_of(read_token(arguments.ticket_key), os.environ.get("TRELLIS_RELEASE", ""))
        token = read_token(arguments.programs_token) if arguments.programs_token is not None else ""
        credentials = Credentials("", certificates_of(arguments), arguments.connections)
        strangers = Strangers()
        with _metrics_of(strangers, arguments.metrics):
            asyncio.run(_serve(arguments, key, credentials, token, strangers))
    except (NoCredentials, BadAddress) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _metrics_of(strangers: Strangers, listen: str | None) -> AbstractContextManager[object]:
    """Serve metrics of the gate at an address, if one is given. Raises BadAddress and OSError."""
    if listen is None:
        return contextlib.nullcontext()
    release, scrapes = os.environ.get("TRELLIS_RELEASE", ""), Refusals()
    refused = RefusalMetrics(release, "gate", [strangers.refusals, scrapes])
    return serve(listen, [ProcessMetrics(release, "gate"), refused], scrapes)


async def _serve(
    arguments: argparse.Namespace, key: str, credentials: Credentials, token: str, strangers: Strangers
) -> None:
    """Serve until a signal. `token` is that of programs, "" if they may send nothing."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    listen = arguments.listen
    programs = ProgramsDoor(open_collector(arguments.programs_collector), token) if token else None
    server, channel, port = await serve_gate(
        listen, arguments.collector, key, credentials, programs, strangers
    )
    print(f"listening on {listen.rpartition(':')[0]}:{port}", flush=True)
    await ended.wait()
    await server.stop(_GRACE)
    await channel.close(None)
    if programs is not None:
        await programs.channel.close(None)


if __name__ == "__main__":
    sys.exit(main())
