"""The gate before the Collector of a release:

`python -m services.telemetry_gate --listen 10.0.0.1:4317 --collector 127.0.0.1:4316 --ticket-key FILE`
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from emulator.network.listening import for_grpc
from emulator.network.loopback import loopback
from emulator.telemetry.collector_gate import serve_gate
from emulator.trust.credentials import Credentials, NoCredentials, read_token
from emulator.trust.tickets import key_of
from services.credential_options import add_certificates, add_connections, certificates_of
from services.endings import in_words

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
    add_certificates(parser)
    add_connections(parser)
    arguments = parser.parse_args()
    try:
        key = key_of(read_token(arguments.ticket_key), os.environ.get("TRELLIS_RELEASE", ""))
        credentials = Credentials("", certificates_of(arguments), arguments.connections)
        asyncio.run(_serve(arguments.listen, arguments.collector, key, credentials))
    except NoCredentials as error:
        print(error, file=sys.stderr)
        return 1
    return 0


async def _serve(listen: str, collector: str, key: str, credentials: Credentials) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    server, channel, port = await serve_gate(listen, collector, key, credentials)
    print(f"listening on {listen.rpartition(':')[0]}:{port}", flush=True)
    await ended.wait()
    await server.stop(_GRACE)
    await channel.close(None)


if __name__ == "__main__":
    sys.exit(main())
