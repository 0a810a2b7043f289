"""Attacks on a release, tried from inside a pod: `python - RELEASE-ADDRESSES < cluster_attacks.py`.

It prints how each of them ended, as JSON. It needs nothing but what the emulator's image has.
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

import grpc
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from emulator.telemetry.exporter import METHODS
from emulator.trust.credentials import START, bearer
from emulator.trust.tickets import write_ticket
from trellis.v1 import control_pb2, control_pb2_grpc, wire_pb2, wire_pb2_grpc

_LIMIT = 20
_CROWD = 600
"""The connections that are tried at once; a release with two hosts has places for a hundred and four."""
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
"""The beginning of a connection of HTTP/2, with settings that change nothing."""
_TOKEN = Path("/etc/trellis-trust/token")
"""The file in which a pod of the release has the token; other pods have none and guess."""


def main() -> None:
    """Attack the addresses of coordinator, Collector, results, and a host; the trial's name comes last."""
    coordinator, collector, results, host, trial = sys.argv[1:]
    token = _TOKEN.read_text() if _TOKEN.exists() else "a guess"
    told: dict[str, str] = {}
    for shown in ("", "a guess", token):
        metadata = (*bearer(shown), (START, "mine"))
        what = "no token" if not shown else "the token" if _TOKEN.exists() and shown == token else "a guess"
        told |= {f"{name} with {what}": end for name, end in _of_coordinator(coordinator, metadata, trial)}
        told[f"Exchange with {what}"] = _exchange(host, bearer(shown))
        told[f"telemetry with {what}"] = _forge(collector, shown, trial)
    told["telemetry with a ticket of another key"] = _forge(
        collector, write_ticket(token, trial, "host-1", 1 << 40), trial
    )
    for path in ("/", "/status", "/run.tar.zst"):
        for shown in ("", token):
            told[f"results {path} with {'a token' if shown else 'none'}"] = _read(results, path, shown)
    told["results, sixty idle connections"] = _idle(results)
    for name, address in (("coordinator", coordinator), ("collector", collector), ("host", host)):
        told[f"crowd at {name}"] = _crowd(address)
    print(json.dumps(told))


def _of_coordinator(address: str, metadata: Any, trial: str) -> list[tuple[str, str]]:
    host = {"host": "host-1", "trial": trial}
    calls = {
        "Register": control_pb2.Registration(host="host-1", address="127.0.0.1:1", start="mine"),
        "AwaitStart": control_pb2.Ready(**host),
        "Track": control_pb2.TrackRequest(**host, left=range(20)),
        "ReportProgress": control_pb2.HostProgress(**host),
        "Finish": control_pb2.HostFidelity(**host),
        "AwaitChurn": control_pb2.ChurnRequest(),
        "ReportKilled": control_pb2.Killed(**host),
    }
    with grpc.insecure_channel(address) as channel:
        stub = control_pb2_grpc.CoordinatorStub(channel)  # type: ignore[no-untyped-call]
        return [
            (name, _end(lambda name=name, request=request: getattr(stub, name)(  # type: ignore[misc]
                request, timeout=_LIMIT, metadata=metadata
            )))
            for name, request in calls.items()
        ]  # fmt: skip


def _exchange(address: str, metadata: Any) -> str:
    with grpc.insecure_channel(address) as channel:
        stub = wire_pb2_grpc.LinksStub(channel)  # type: ignore[no-untyped-call]
        call = stub.Exchange(iter([wire_pb2.Batch(host=1)]), timeout=3, metadata=metadata)
        return _end(lambda: next(call, None))


def _forge(address: str, shown: str, trial: str) -> str:
    data = TracesData()
    resource = data.resource_spans.add()
    for key, value in (("trellis.trial", trial), ("service.instance.id", "host-1")):
        resource.resource.attributes.add(key=key).value.string_value = value
    resource.scope_spans.add().spans.add(name="forged", trace_id=bytes(16), span_id=bytes(8))
    with grpc.insecure_channel(address) as channel:
        export = channel.unary_unary(METHODS["traces"], None, None)
        return _end(lambda: export(data.SerializeToString(), timeout=_LIMIT, metadata=bearer(shown)))


def _end(call: Any) -> str:
    try:
        call()
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


def _read(address: str, path: str, shown: str) -> str:
    connection = http.client.HTTPConnection(address, timeout=_LIMIT)
    try:
        connection.request("GET", path, headers={"X-Trellis-Token": shown} if shown else {})
        return str(connection.getresponse().status)
    finally:
        connection.close()


def _idle(address: str) -> str:
    host, _, port = address.rpartition(":")
    idle = [socket.create_connection((host, int(port)), _LIMIT) for _ in range(60)]
    try:
        return _read(address, "/healthz", "")
    finally:
        for each in idle:
            each.close()


def _crowd(address: str) -> str:
    """Open many connections and return whether the server closed most of them within some seconds."""
    host, _, port = address.rpartition(":")
    crowd = []
    for _ in range(_CROWD):
        try:
            crowd.append(socket.create_connection((host, int(port)), _LIMIT))
            crowd[-1].sendall(_HELLO)
        except OSError:
            continue
    time.sleep(3)
    return "most are closed" if sum(map(_is_open, crowd)) < _CROWD / 2 else "all are kept"


def _is_open(connection: socket.socket) -> bool:
    with connection:
        connection.setblocking(False)
        try:
            while connection.recv(1 << 16):
                pass
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False


if __name__ == "__main__":
    main()
