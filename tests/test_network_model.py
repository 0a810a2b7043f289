"""Peers at hosts: delays, jitter and loss."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.network.build_network import build_network, place
from emulator.network.spec import NetworkSpec


def spec(**fields: object) -> NetworkSpec:
    return NetworkSpec.model_validate(fields)


def planetlab(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "rtt").write_text("0 100 20\n100 0 30\n20 30 0\n")
    return {"kind": "planetlab", "file": tmp_path / "rtt"}


def test_one_way_delay_is_half_of_the_rtt(tmp_path: Path) -> None:
    network = build_network(spec(latency=planetlab(tmp_path)), [2, 0, 1], seed=1)
    assert network.one_way(0, 1) == pytest.approx(0.010)
    assert network.one_way(1, 2) == network.one_way(2, 1) == pytest.approx(0.050)
    assert type(network.rows[0][1]) is float
    assert network.rows[network.locations[1]][network.locations[2]] == network.one_way(1, 2)


def test_peers_at_one_host_have_its_own_rtt(tmp_path: Path) -> None:
    network = build_network(spec(latency=planetlab(tmp_path), same_host_rtt="4 ms"), [0, 0, 1], seed=1)
    assert network.one_way(0, 1) == pytest.approx(0.002)


def test_constant_latency_holds_between_all_peers() -> None:
    network = build_network(spec(latency={"kind": "constant", "rtt": "60 ms"}), [0, 0, 0], seed=1)
    assert spec(latency={"kind": "constant", "rtt": "60 ms"}).latency.host_count() == 1
    assert {round(network.one_way(a, b), 6) for a in range(3) for b in range(3)} == {0.030}


@pytest.mark.parametrize("rtt", [0.1, 0.05, 0.0314])
def test_delays_that_a_file_names_are_exact(rtt: float) -> None:
    """A 32-bit number would be off by most of a nanosecond at 50 ms."""
    constant = build_network(spec(latency={"kind": "constant", "rtt": f"{rtt} s"}), [0, 0], seed=1)
    assert constant.one_way(0, 1) == rtt / 2
    named = [{"name": "eu", "share": 0.5}, {"name": "us", "share": 0.5}]
    table = {"eu": {"eu": "10 ms", "us": f"{rtt} s"}, "us": {"us": "30 ms"}}
    regions = build_network(
        spec(latency={"kind": "regions", "regions": named, "rtt": table}), [0, 1, 1], seed=1
    )
    assert regions.one_way(0, 1) == regions.one_way(1, 0) == rtt / 2
    assert regions.one_way(1, 2) == 0.015


def test_memory_grows_with_hosts_and_not_with_peers() -> None:
    king = spec(latency={"kind": "king", "hosts": 40})
    network = build_network(king, place(10_000, 40, np.random.default_rng(1)).tolist(), seed=1)
    assert sum(len(row) * row.itemsize for row in network.rows) == 40 * 40 * 4
    assert network.one_way(0, 9_999) > 0


def test_a_network_has_the_places_of_its_peers_alone(tmp_path: Path) -> None:
    whole = build_network(spec(latency=planetlab(tmp_path)), [0, 1, 2], seed=1)
    part = build_network(spec(latency=planetlab(tmp_path)), [2, 0, 2], seed=1)
    assert [len(row) for row in part.rows] == [2, 2]
    assert part.one_way(0, 1) == whole.one_way(2, 0)
    assert part.one_way(1, 2) == whole.one_way(0, 2)
    assert part.one_way(0, 2) == whole.one_way(2, 2)


def test_king_depends_on_the_seed_alone() -> None:
    one, same, other = (
        build_network(spec(latency={"kind": "king", "hosts": 20}), [3, 5], s) for s in (1, 1, 2)
    )
    assert one.one_way(0, 1) == same.one_way(0, 1) != other.one_way(0, 1)


@pytest.mark.parametrize("location", [-1, 3])
def test_a_location_outside_the_matrix_is_refused(tmp_path: Path, location: int) -> None:
    with pytest.raises(ValueError, match="not one of the 3 hosts"):
        build_network(spec(latency=planetlab(tmp_path)), [0, location], seed=1)


def test_jitter_never_makes_a_message_early_and_has_the_deviation_asked_for() -> None:
    network = build_network(
        spec(latency={"kind": "constant", "rtt": "60 ms"}, jitter="10 ms"), [0, 0], seed=1
    )
    random = Random(1)
    delays = [network.delay(0, 1, random) for _ in range(20_000)]
    assert all(delay is not None and delay >= network.one_way(0, 1) for delay in delays)
    assert stdev(d for d in delays if d is not None) == pytest.approx(0.010, rel=0.03)
    assert mean(d for d in delays if d is not None) == pytest.approx(0.030 + 0.0132, rel=0.02)


def test_loss_takes_the_share_asked_for() -> None:
    random = Random(1)
    lossy = build_network(spec(latency={"kind": "constant", "rtt": "60 ms"}, loss=0.2), [0, 0], seed=1)
    lost = sum(lossy.delay(0, 1, random) is None for _ in range(20_000))
    assert lost / 20_000 == pytest.approx(0.2, abs=0.01)


def test_without_jitter_and_loss_nothing_is_drawn() -> None:
    random = Random(1)
    state = random.getstate()
    network = build_network(spec(latency={"kind": "constant", "rtt": "60 ms"}), [0, 0], seed=1)
    assert network.delay(0, 1, random) == network.one_way(0, 1)
    assert random.getstate() == state


@given(peers=st.integers(1, 300), hosts=st.integers(1, 60), seed=st.integers(0, 99))
def test_peers_are_spread_evenly_over_hosts(peers: int, hosts: int, seed: int) -> None:
    load = Counter(place(peers, hosts, np.random.default_rng(seed)).tolist())
    assert sum(load.values()) == peers
    assert set(load) <= set(range(hosts))
    assert max(load.values()) == -(-peers // hosts)
    assert len(load) == min(peers, hosts)
