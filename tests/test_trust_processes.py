"""A trial in local processes: its token is seen by nobody else, and strangers on the loopback are refused."""

from __future__ import annotations

import threading
from pathlib import Path

import grpc
import psutil
import pytest
from fleet_toys import PATH
from test_fleet_processes import run, spec_of

from emulator.fleet import processes
from emulator.runtime.progress import Progress
from emulator.trust.credentials import START, bearer
from trellis.v1 import control_pb2, control_pb2_grpc

TOKEN = "the-token-of-this-run"


def refusals(address: str) -> list[grpc.StatusCode]:
    """Return what a stranger on this machine is told who wants to end the trial."""
    told = []
    with grpc.insecure_channel(address) as channel:
        stub = control_pb2_grpc.CoordinatorStub(channel)  # type: ignore[no-untyped-call]
        for metadata in ((), bearer("a guess"), bearer(TOKEN), (*bearer(TOKEN), (START, "mine"))):
            with pytest.raises(grpc.RpcError) as error:
                request = control_pb2.HostFidelity(host="host-0", trial="trial")
                stub.Finish(request, timeout=20, metadata=metadata)
            told.append(error.value.code())
    return told


def test_strangers_cannot_end_a_trial_and_see_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", PATH)
    monkeypatch.setattr(processes, "new_token", lambda: TOKEN)
    seen: list[str] = []
    told: list[grpc.StatusCode] = []
    strangers: list[threading.Thread] = []

    def look(progress: Progress) -> None:
        if strangers:
            return
        hosts = [child for child in psutil.Process().children() if "services.peer" in child.cmdline()]
        seen.extend(str(host.cmdline()) + str(host.environ()) for host in hosts)
        command = hosts[0].cmdline()
        address = command[command.index("--coordinator") + 1]
        thread = threading.Thread(target=lambda: told.extend(refusals(address)))  # the coordinator goes on
        thread.start()
        strangers.append(thread)

    directory = tmp_path / "run" / "trials" / "trial"
    directory.mkdir(parents=True)
    fidelity = run(directory, spec_of(), look)
    for stranger in strangers:
        stranger.join()
    unknown, another = grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED
    assert told == [unknown, unknown, unknown, another]
    assert len(seen) == 2 and not any(TOKEN in each for each in seen)
    assert fidelity.valid, fidelity.reasons
    written = [file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert not any(TOKEN.encode() in content for content in written)
