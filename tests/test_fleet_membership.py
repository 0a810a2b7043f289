"""A host's part in a trial while its coordinator is away for a moment."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from test_fleet_coordinator import plan_of, register, spec_of

from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.host import asking_again
from emulator.fleet.host.member import Membership, TrialGone
from emulator.telemetry.otlp_files import FileSink
from trellis.v1 import control_pb2


def failure(code: grpc.StatusCode, *told: tuple[str, str]) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*told), "a test")


class AwayForAMoment:
    """A coordinator that cannot be reached for the first calls, and has another trial afterwards."""

    def __init__(self, away: int, *told: tuple[str, str]) -> None:
        """`told` is the metadata of the refusals."""
        self.away = away
        self.told = told
        self.measured = 0

    async def MeasureClock(self, request: control_pb2.ClockRequest, timeout: float) -> control_pb2.ClockReply:
        if self.away:
            self.away -= 1
            raise failure(grpc.StatusCode.UNAVAILABLE, *self.told)
        self.measured += 1
        return control_pb2.ClockReply()

    async def AwaitStart(self, request: control_pb2.Ready, timeout: float) -> control_pb2.Start:
        raise failure(grpc.StatusCode.FAILED_PRECONDITION)


class NothingToEnforce:
    def lacking(self, spec: Any) -> str:
        return ""


def take_part(stub: AwayForAMoment, folder: Path, patience: float) -> str:
    async def run() -> str:
        coordinator = Coordinator(spec_of(5), plan_of(5), "experiment", "vitis-1")
        assignment = register(coordinator, "host-0")
        service: Any = None
        enforcement: Any = NothingToEnforce()
        membership = Membership("host-0", assignment, stub, service, enforcement, folder, FileSink, patience)
        return await membership.run()

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking_again, "_PAUSE", 0.0)


def test_a_host_asks_a_coordinator_again_that_is_away_while_clocks_are_compared(tmp_path: Path) -> None:
    stub = AwayForAMoment(away=3)
    with pytest.raises(TrialGone):
        take_part(stub, tmp_path, patience=60.0)
    assert stub.measured >= 8


def test_a_coordinator_that_stays_away_ends_the_host(tmp_path: Path) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
        take_part(AwayForAMoment(away=10**9), tmp_path, patience=0.05)


def test_a_host_asks_again_when_the_coordinator_told_it_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_again, "_PAUSE", 600.0)
    stub = AwayForAMoment(3, (asking_again.AFTER, "0"))
    with pytest.raises(TrialGone):
        take_part(stub, tmp_path, patience=60.0)
    assert stub.measured >= 8
