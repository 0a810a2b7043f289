"""A trial of real peers in namespaces of their own: netem delays what they say to each other."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from netem_world import need_root, netem_kernel

ROOT = Path(__file__).parent.parent
LIMIT = 840
"""Seconds. The kernel may be an emulated one with one slow processor: that takes one to five minutes."""

pytestmark = pytest.mark.timeout(LIMIT + 30)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    need_root()
    folder = tmp_path_factory.mktemp("peers")
    program = str(Path(__file__).with_name("netem_peers.py"))
    done = subprocess.run(
        [*netem_kernel(), sys.executable, program, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    logs = "".join(f"{log.name}: {log.read_text()[-2000:]}\n" for log in sorted(folder.glob("*.log")))
    assert done.returncode == 0, done.stdout + done.stderr + logs
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def pairs(found: dict[str, Any]) -> list[tuple[int, int]]:
    hosts = range(len(found["matrix"]))
    return [(one, other) for one in hosts for other in hosts if one != other]


def test_echoes_of_real_peers_take_what_the_matrix_says(found: dict[str, Any]) -> None:
    """Echoes agree within 1 ms or 2 %, whichever is more, for every pair."""
    errors = {}
    for one, other in pairs(found):
        wanted, measured = found["matrix"][one][other], found["echoes"]["with"][one][other]
        assert measured is not None, f"no echo from peer {other} to peer {one}"
        errors[one, other] = abs(measured - wanted) / max(1.0, 0.02 * wanted)
    assert max(errors.values()) <= 1, {pair: error for pair, error in errors.items() if error > 1}


def test_calls_between_real_peers_take_no_less(found: dict[str, Any]) -> None:
    print("RTT in ms: matrix, UDP and gRPC with netem, UDP and gRPC without")
    excess = []
    for one, other in pairs(found):
        wanted, call = found["matrix"][one][other], found["calls"]["with"][one][other]
        echoes = [found["echoes"][how][one][other] for how in ("with", "without")]
        without = found["calls"]["without"][one][other]
        print(f"{one} {other} {wanted:6.1f} {echoes[0]:6.1f} {call:6.1f} {echoes[1]:6.1f} {without:6.1f}")
        assert call > wanted - 1
        excess.append(call - wanted)
    print(f"gRPC above the matrix: median {statistics.median(excess):.1f} ms")


def test_the_trial_says_that_netem_delayed(found: dict[str, Any]) -> None:
    fidelity = found["fidelity"]
    assert fidelity["enforced_by"] == "netem"
    assert fidelity["measured"]["echoes"] >= len(pairs(found))
    failed = {check["name"] for check in fidelity["checks"] if not check["ok"]}
    assert not failed & {"hosts lost", "hosts restarted", "hosts with an error", "lost spans"}
