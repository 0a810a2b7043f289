"""How long one coordinator takes to take in 5,000 hosts: registration, clocks, plans and the start."""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import resource
import time
from multiprocessing.connection import Connection

import grpc.aio

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.service import CoordinatorService
from emulator.fleet.host.asking_again import pause_after
from emulator.fleet.host.clock_offset import measure_clock_offset
from trellis.v1 import control_pb2, control_pb2_grpc

HOSTS = 5000
_DIALLING = 200
"""Hosts that register at the same time; a cluster starts pods one after the other too."""
_LIMIT = 600.0


def main(hosts: int = HOSTS) -> None:
    """Run one peer of Vitis on each host; the coordinator has the first core for itself, the hosts have
    another."""
    ours, theirs = multiprocessing.Pipe()
    coordinator = multiprocessing.get_context("spawn").Process(target=_coordinator, args=(theirs, hosts))
    coordinator.start()
    theirs.close()
    _pin(-1)
    try:
        address, trial = ours.recv()
        began = time.perf_counter()
        plan_bytes = asyncio.run(_all_hosts(address, trial, hosts))
        seconds = time.perf_counter() - began
        ours.send(None)
        cpu, memory = ours.recv()
        print(
            f"control: {hosts} hosts registered, got their plans ({plan_bytes / hosts / 2**10:.0f} KiB each) "
            f"and heard of the start in {seconds:.1f} s; the coordinator took {cpu:.1f} s of one core and "
            f"{memory:.2f} GiB",
            flush=True,
        )
    finally:
        coordinator.terminate()
        coordinator.join()


def _coordinator(pipe: Connection, hosts: int) -> None:
    _pin(0)
    asyncio.run(_serve(pipe, hosts))


async def _serve(pipe: Connection, hosts: int) -> None:
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "vitis"},
            "peers": hosts,
            "network": {"latency": {"kind": "king"}},
            "workload": {"subscriptions": {"kind": "high", "topics": 5000, "per_peer": 50, "buckets": 100}},
            "runtime": {"kind": "kubernetes", "hosts": hosts},
        }
    )
    coordinator = Coordinator(spec, draw_plan(spec), "benchmark", "benchmark-1")
    service = CoordinatorService()
    server, address = await service.serve("127.0.0.1:0")
    await service.begin(coordinator)
    cpu = time.process_time()
    pipe.send((address, coordinator.trial))
    await asyncio.to_thread(pipe.recv)
    pipe.send((time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20))
    await server.stop(0)


async def _all_hosts(address: str, trial: str, hosts: int) -> int:
    dialling = asyncio.Semaphore(_DIALLING)
    async with asyncio.timeout(_LIMIT):
        return sum(
            await asyncio.gather(*(_host(address, trial, f"host-{n}", dialling) for n in range(hosts)))
        )


async def _host(address: str, trial: str, name: str, dialling: asyncio.Semaphore) -> int:
    """Ask for what a host needs before it starts, over a connection of its own, and return the bytes of
    its plan."""
    own = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(address, options=own) as channel:
        stub = control_pb2_grpc.CoordinatorStub(channel)  # type: ignore[no-untyped-call]
        async with dialling:
            registration = control_pb2.Registration(host=name, address="10.0.0.1:7001", start=name)
            assignment = await stub.Register(registration)
            offset = await measure_clock_offset(stub, name)
        ready = control_pb2.Ready(host=name, clock_offset_ns=offset, trial=trial)
        while True:
            try:
                await stub.AwaitStart(ready)
                return int(assignment.ByteSize())
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                pause = pause_after(error)
            await asyncio.sleep(pause)


def _pin(core: int) -> None:
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[core]})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    main(parser.parse_args().hosts)
