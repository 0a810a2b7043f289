"""Hosts in namespaces of their own, netem between them, and the round trips of UDP echoes: as JSON.

`python tests/netem_delays.py HOSTS SEED` under a kernel with netem, as root. Prints one object:
`matrix`, `before`, `during`, `after` (RTTs in ms between hosts, null without an answer): what netem is
told, and what echoes took before netem, under netem, and when it was closed again.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from netem_world import hosts
from pyroute2 import netns

from emulator.network.echo import measure_round_trips, serve_echo
from emulator.network.king import king_rtt
from emulator.network.netem.shaper import Netem, why_unavailable
from emulator.streams import generator

PORT = 7001
_GAIN = 0.3
"""Milliseconds."""
_PASSES = 8
LIMIT = 60.0
"""Seconds for any step of a host."""


def live(name: str, own: int, addresses: Sequence[str], one_way: Sequence[float], line: Connection) -> None:
    """A host: does in its namespace what it is told, until it is told nothing more."""
    netns.setns(name)
    asyncio.run(_obey(own, addresses, one_way, line))


async def _obey(own: int, addresses: Sequence[str], one_way: Sequence[float], line: Connection) -> None:
    server = await serve_echo(addresses[own], PORT)
    netem = None
    line.send(why_unavailable())
    while (order := await asyncio.to_thread(_receive, line)) is not None:
        if order == "shape":
            netem = Netem(seed=own)
            for other, seconds in zip(addresses, one_way, strict=True):
                if other != addresses[own]:
                    netem.delay_to(other, seconds)
            line.send(None)
        elif order == "measure":
            trips = await measure_round_trips([(address, PORT) for address in addresses], count=8)
            line.send([None if trip is None else trip / 1e6 for trip in trips])
        elif order == "release" and netem is not None:
            netem.close()
            line.send(None)
    server.close()


def _receive(line: Connection) -> Any:
    if not line.poll(LIMIT):
        raise TimeoutError("nothing is asked of this host")
    return line.recv()


def tell(lines: Sequence[Connection], order: str) -> list[Any]:
    """One host after the other, so that on one processor none waits for another's work."""
    answers = []
    for line in lines:
        line.send(order)
        answers.append(_receive(line))
    return answers


def undisturbed(lines: Sequence[Connection]) -> list[list[float | None]]:
    """The shortest of all echoes, measured again until no pair gains `_GAIN` by it: the machine is shared."""
    best: list[list[float | None]] = tell(lines, "measure")
    for _ in range(_PASSES):
        gained = False
        for known, new in zip(best, tell(lines, "measure"), strict=True):
            for place, trip in enumerate(new):
                before = known[place]
                if trip is not None and (before is None or trip < before):
                    gained |= before is None or before - trip > _GAIN
                    known[place] = trip
        if not gained:
            break
    return best


def main(count: int, seed: int) -> dict[str, Any]:
    rtt = king_rtt(count, 0.180, generator(seed, "netem")).astype(float)
    with hosts(count) as places:
        processes, lines = [], []
        for own, name in enumerate(places.values()):
            line, other_end = multiprocessing.Pipe()
            one_way = (rtt[own] / 2).tolist()
            arguments = (name, own, list(places), one_way, other_end)
            process = multiprocessing.get_context("fork").Process(target=live, args=arguments, daemon=True)
            process.start()
            processes.append(process)
            lines.append(line)
        try:
            reasons = [reason for line in lines if (reason := _receive(line)) is not None]
            if reasons:
                raise SystemExit(reasons[0])
            found: dict[str, Any] = {"matrix": (rtt * 1e3).tolist()}
            found["before"] = tell(lines, "measure")
            tell(lines, "shape")
            found["during"] = undisturbed(lines)
            tell(lines, "release")
            found["after"] = tell(lines, "measure")
            for line in lines:
                line.send(None)
            for process in processes:
                process.join(LIMIT)
        finally:
            for process in processes:
                process.kill()
    return found


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
