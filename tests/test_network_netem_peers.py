"""A trial of real peers in namespaces of their own: netem delays what they say to each other."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from netem_world import need_root, netem_kernel, told_by

LIMIT = 840
"""Seconds. The kernel may be an emulated one with one slow processor: that takes one to five minutes."""

pytestmark = pytest.mark.timeout(LIMIT + 30)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    need_root()
    return told_by("netem_peers.py", tmp_path_factory.mktemp("peers"), LIMIT, netem_kernel())


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


def test_a_partition_stops_what_netem_delays(found: dict[str, Any]) -> None:
    parted = set(found["parted"])
    assert len(parted) == len(found["matrix"]) // 2 and found["stopped"] > 0
    # Hosts count trial time by offsets of their clocks, which a slow machine measures to some milliseconds.
    inside = [hop for hop in found["hops"] if 12.1 < hop[0] < 16.9]
    assert inside, "nothing was sent while the peers were parted"
    assert [hop for hop in inside if (hop[2] in parted) != (hop[3] in parted)] == []
    assert any((sender in parted) != (peer in parted) for _, _, sender, peer in found["hops"])


def test_peers_take_their_time_for_messages_that_netem_delays(found: dict[str, Any]) -> None:
    # Half of the 10 ms are left for what the hosts' clocks differ.
    assert len(found["hops"]) > 20
    for sent, handled, sender, peer in found["hops"]:
        assert handled - sent >= found["matrix"][sender][peer] / 2000 + 0.005


def test_the_trial_says_that_netem_delayed(found: dict[str, Any]) -> None:
    fidelity = found["fidelity"]
    assert fidelity["enforced_by"] == "netem"
    assert fidelity["measured"]["echoes"] >= len(pairs(found))
    failed = {check["name"]: check["detail"] for check in fidelity["checks"] if not check["ok"]}
    whole = {"hosts lost", "hosts restarted", "hosts with an error", "lost spans"}
    assert {name: detail for name, detail in failed.items() if name in whole} == {}
