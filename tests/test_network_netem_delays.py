"""netem between hosts in namespaces of their own: echoes take as long as the matrix says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from netem_world import need_root, netem_kernel

HOSTS = 8
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def round_trips() -> dict[str, Any]:
    """RTTs in ms: `matrix`, `before`, `during`, `after`."""
    need_root()
    command = [*netem_kernel(), sys.executable, str(Path(__file__).with_name("netem_delays.py"))]
    done = subprocess.run(
        [*command, str(HOSTS), "1"], cwd=ROOT, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def pairs() -> list[tuple[int, int]]:
    return [(one, other) for one in range(HOSTS) for other in range(HOSTS) if one != other]


def test_every_echo_takes_what_the_matrix_says(round_trips: dict[str, Any]) -> None:
    """Echoes agree within 1 ms or 2 %, whichever is more."""
    matrix, during = round_trips["matrix"], round_trips["during"]
    print("RTT in ms, measured/matrix")
    for one in range(HOSTS):
        print(*(f"{during[one][other] or -1:6.1f}/{matrix[one][other]:5.1f}" for other in range(HOSTS)))
    errors = {}
    for one, other in pairs():
        measured, wanted = during[one][other], matrix[one][other]
        assert measured is not None, f"no echo from host {other} to host {one}"
        errors[one, other] = abs(measured - wanted) / max(1.0, 0.02 * wanted)
    assert max(errors.values()) <= 1, {pair: error for pair, error in errors.items() if error > 1}


@pytest.mark.parametrize("when", ["before", "after"])
def test_without_netem_there_is_no_delay(when: str, round_trips: dict[str, Any]) -> None:
    for one, other in pairs():
        assert round_trips[when][one][other] < 5
