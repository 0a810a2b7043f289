"""The churn controller of a release whose sessions end with their pods:

`python -m services.churn --coordinator demo-coordinator:7000 --pods demo-peers --collector
http://demo-collector:4317`
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys

import grpc.aio

from emulator.fleet.pods.churn_controller import run_churn
from emulator.fleet.pods.kill_schedule import Pace
from emulator.fleet.pods.kubernetes_api import PodsDenied, open_pods
from emulator.fleet.pods.pod_reading import own_namespace
from emulator.runtime.realtime.connecting import OPTIONS
from emulator.telemetry.endpoint import open_channel
from emulator.telemetry.exporter import Exporter
from emulator.trust.credentials import NoCredentials
from services.credential_options import add_options, credentials_of
from services.endings import in_words
from services.self_telling import tell_of_self
from trellis.v1 import control_pb2_grpc

_CLOSING = 10.0
"""The seconds for the last spans, within a pod's usual grace period."""


@in_words
def main() -> int:
    """Run the program. The exit status is 0 when it is told to stop, 1 if it could not do its work."""
    parser = argparse.ArgumentParser(description="The churn controller of a release")
    environment = os.environ.get
    parser.add_argument("--coordinator", default=environment("TRELLIS_COORDINATOR"), help="address:port")
    parser.add_argument("--pods", required=True, help="what the names of the peers' StatefulSets begin with")
    parser.add_argument("--collector", default=environment("TRELLIS_COLLECTOR"), help="http://address:port")
    add_options(parser)
    parser.add_argument("--namespace", default=own_namespace())
    parser.add_argument("--rate", type=float, default=Pace.rate, help="deletions a second (%(default)g)")
    parser.add_argument("--calls", type=int, default=Pace.calls, help="deletions under way (%(default)d)")
    parser.add_argument(
        "--patience", type=float, default=Pace.patience, help="seconds until a pod is gone (%(default)g)"
    )
    arguments = parser.parse_args()
    if not arguments.coordinator or not arguments.collector:
        parser.error("--coordinator and --collector are needed")
    try:
        tell_of_self("churn")
        arguments.credentials = credentials_of(arguments)
        arguments.pace = Pace(arguments.rate, arguments.calls, arguments.patience)
        open_channel(arguments.collector).close()  # to refuse a bad address before any pod is deleted
        asyncio.run(_run_until_stopped(arguments))
    except (NoCredentials, PodsDenied, ValueError) as error:
        print(error, file=sys.stderr)
    except grpc.aio.AioRpcError as error:
        print(f"coordinator {arguments.coordinator}: {error.code().name}, {error.details()}", file=sys.stderr)
    else:
        return 0
    return 1


async def _run_until_stopped(arguments: argparse.Namespace) -> None:
    """Run until SIGTERM or SIGINT, even if the last trial has ended earlier."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    stop = asyncio.create_task(stopped.wait())
    work = asyncio.create_task(_replay(arguments))
    try:
        done, _ = await asyncio.wait({stop, work}, return_when=asyncio.FIRST_COMPLETED)
        if work in done:
            work.result()
            print("there is no further trial", flush=True)
            await stop
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def _replay(arguments: argparse.Namespace) -> None:
    credentials = arguments.credentials
    async with (
        credentials.open(arguments.coordinator, OPTIONS) as channel,
        open_pods(arguments.namespace, arguments.pods) as pods,
    ):
        stub = control_pb2_grpc.CoordinatorStub(credentials.showing(channel))  # type: ignore[no-untyped-call]
        sink = Exporter(arguments.collector, _CLOSING, certificates=credentials.certificates)
        await run_churn(stub, pods, arguments.pods, sink, arguments.pace)


if __name__ == "__main__":
    sys.exit(main())
