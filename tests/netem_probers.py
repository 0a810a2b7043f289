"""Processes in network namespaces that measure round trips to each other when they are told to."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import grpc.aio
from pyroute2 import netns

from emulator.network.echo import measure_round_trips, serve_echo
from emulator.trust.credentials import Metadata, bearer, read_token
from trellis.v1 import wire_pb2_grpc

PORT = 7001
Trips = list[list[float | None]]
"""Round trips in ms, from each host to each."""

_ECHOES = 8
_CALLS = 5
_GAIN = 0.3
"""Milliseconds by which a pair must gain for all to be measured once more."""
_PASSES = 8
_LIMIT = 120.0
"""Seconds for whatever a process is told to do."""


class Probers:
    """One process in each namespace; they measure one after the other, as if each had the machine alone."""

    def __init__(self, addresses: Sequence[str], lines: Sequence[Connection]) -> None:
        self._addresses = addresses
        self._lines = lines

    def echoes(self) -> Trips:
        """Return the shortest of all UDP echoes, which are repeated until no pair gains by it."""
        best = self._tell("echo")
        for _ in range(_PASSES):
            gained = False
            for known, new in zip(best, self._tell("echo"), strict=True):
                for place, trip in enumerate(new):
                    before = known[place]
                    if trip is not None and (before is None or trip < before):
                        gained |= before is None or before - trip > _GAIN
                        known[place] = trip
            if not gained:
                break
        return best

    def calls(self) -> Trips:
        """Return the shortest of some gRPC calls on a connection that stands."""
        return self._tell("call")

    def _tell(self, order: str) -> Trips:
        answers = []
        for line in self._lines:
            line.send((order, self._addresses))
            answers.append(_receive(line))
        return answers


@contextmanager
def probers(places: Mapping[str, str], *, serving: bool) -> Iterator[Probers]:
    """Start probers in the namespaces of these addresses; `serving` has them answer echoes too.

    Made by fork, so before there is any thread.
    """
    processes, lines = [], []
    try:
        for address, name in places.items():
            line, other_end = multiprocessing.Pipe()
            process = multiprocessing.get_context("fork").Process(
                target=_live, args=(name, address if serving else None, other_end), daemon=True
            )
            process.start()
            processes.append(process)
            lines.append(line)
            assert _receive(line) == "ready"
        yield Probers(list(places), lines)
    finally:
        for process in processes:
            process.kill()
            process.join(_LIMIT)


def _live(name: str, serve: str | None, line: Connection) -> None:
    netns.setns(name)
    asyncio.run(_obey(serve, line))


async def _obey(serve: str | None, line: Connection) -> None:
    if serve is not None:
        await serve_echo(serve, PORT)
    line.send("ready")
    while True:
        order, addresses = await asyncio.to_thread(line.recv)
        if order == "echo":
            trips = await measure_round_trips([(address, PORT) for address in addresses], _ECHOES)
            line.send([None if trip is None else trip / 1e6 for trip in trips])
        else:
            line.send([await _call(address) for address in addresses])


async def _call(address: str) -> float:
    async with grpc.aio.insecure_channel(f"{address}:{PORT}") as channel:
        await asyncio.wait_for(channel.channel_ready(), _LIMIT)
        stub = wire_pb2_grpc.LinksStub(channel)  # type: ignore[no-untyped-call]
        best = float("inf")
        for _ in range(_CALLS):
            began = time.perf_counter()
            call = stub.Exchange(timeout=_LIMIT, metadata=_metadata())
            await call.done_writing()
            async for _ in call:
                pass
            best = min(best, time.perf_counter() - began)
    return best * 1e3


def _metadata() -> Metadata:
    """Return the metadata that shows the token of the peers, if they ask for one."""
    file = os.environ.get("TRELLIS_TOKEN_FILE")
    return bearer(read_token(Path(file))) if file else ()


def _receive(line: Connection) -> Any:
    if not line.poll(_LIMIT):
        raise TimeoutError("a process in a namespace does not answer")
    return line.recv()
