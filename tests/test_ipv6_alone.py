"""A machine that has the loopback address of IPv6 alone, in a network namespace of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_caller_surroundings import EXPERIMENT

ROOT = Path(__file__).parent.parent
LOOPBACK = """\
ip -6 addr replace ::1/128 dev lo && ip link set lo up && ip addr del 127.0.0.1/8 dev lo && exec "$@"
"""


@pytest.fixture(scope="module")
def alone() -> tuple[str, ...]:
    """The beginning of a command line that runs a program without IPv4."""
    if not (shutil.which("unshare") and shutil.which("ip")):
        pytest.skip("the programs unshare and ip are needed")
    refused = ""
    for options in ("-n", "-Urn"):
        prefix = ("unshare", options, "sh", "-c", LOOPBACK, "sh")
        tried = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            return prefix
        refused = tried.stderr.strip()
    pytest.skip(f"no network namespace with IPv6 can be made here: {refused}")


def run(
    prefix: tuple[str, ...], here: Path, *arguments: str, limit: float = 280
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, sys.executable, "-P", *arguments],
        cwd=here,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )


@pytest.mark.timeout(900)
def test_a_run_in_processes_goes_to_its_report(alone: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    command = ("-c", "from trellis.command.cli import main; main()", "run", "small.yaml", "--out", "out")
    done = run(alone, tmp_path, *command, limit=840)
    assert done.returncode == 0, done.stdout + done.stderr
    (directory,) = (tmp_path / "out").iterdir()
    assert json.loads((directory / "summary.json").read_text())["valid"]
    assert (directory / "report" / "index.html").exists()


SERVED = """
import threading, urllib.request
from pathlib import Path
from emulator.experiment.run.directory import RunDirectory
from emulator.network.loopback import bracketed, loopback
from services.results import ResultsServer
from trellis.command.release.relay import Relay

class Results:
    def read(self, page):
        return urllib.request.urlopen(f"http://{bracketed(loopback())}:{server.server_address[1]}/{page}")

class Answer:
    def __init__(self, of): self.status, self.headers, self.read = of.status, of.headers, of.read
    def __enter__(self): return self
    def __exit__(self, *of): pass

Results.read, plain = lambda self, page: Answer(plain(self, page)), Results.read
server = ResultsServer(loopback(), 0, RunDirectory(Path("run")))
threading.Thread(target=server.serve_forever, daemon=True).start()
with Relay(Results()) as relay:
    threading.Thread(target=relay.serve, daemon=True).start()
    print(relay.address, urllib.request.urlopen(relay.address).status)
"""


EVERYWHERE = """
import asyncio, socket, threading
from pathlib import Path
from emulator.experiment.run.directory import RunDirectory
from emulator.network.listening import for_grpc
from emulator.network.metrics_server import serve
from emulator.telemetry.collector_gate import serve_gate
from emulator.trust.credentials import Credentials
from services.results import ResultsServer

async def gate():
    server, channel, port = await serve_gate(for_grpc("*:0"), "[::1]:9", "key", Credentials())
    socket.create_connection((HOST, port), 5).close()
    await server.stop(0)
    await channel.close()

asyncio.run(gate())
server = ResultsServer("*", 0, RunDirectory(Path("run")))
socket.create_connection((HOST, server.server_address[1]), 5).close()
server.server_close()
with serve("*:0", []) as metrics:
    socket.create_connection((HOST, metrics.port), 5).close()
print("all answer")
"""


def test_services_that_listen_on_all_interfaces_are_reached_without_ipv4(
    alone: tuple[str, ...], tmp_path: Path
) -> None:
    done = run(alone, tmp_path, "-c", EVERYWHERE.replace("HOST", "'::1'"))
    assert done.stdout == "all answer\n", done.stderr


def test_services_that_listen_on_all_interfaces_are_reached_by_ipv4(tmp_path: Path) -> None:
    done = run((), tmp_path, "-c", EVERYWHERE.replace("HOST", "'127.0.0.1'"))
    assert done.stdout == "all answer\n", done.stderr


def test_results_are_served_and_relayed(alone: tuple[str, ...], tmp_path: Path) -> None:
    done = run(alone, tmp_path, "-c", SERVED)
    assert done.stdout.startswith("http://[::1]:"), done.stderr
    assert done.stdout.endswith("/ 200\n")


def test_without_any_loopback_address_a_run_is_refused_with_the_fix(
    alone: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    none = (*alone[:3], "-c", 'exec "$@"', "sh")
    command = ("-c", "from trellis.command.cli import main; main()", "run", "small.yaml", "--out", "out")
    done = run(none, tmp_path, *command)
    assert done.returncode == 2
    assert "ip link set lo up" in done.stderr
    assert not (tmp_path / "out").exists()
