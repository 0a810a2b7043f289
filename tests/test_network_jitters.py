"""Models of jitter: their distributions, how early they make messages, and their correlation."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from statistics import correlation, mean, quantiles, stdev
from typing import Any

import pytest

from emulator.experiment.file.load import ExperimentError, load
from emulator.fleet.host.assignment import spec_for_hosts
from emulator.network.build_network import build_network
from emulator.network.spec import NetworkSpec
from emulator.runtime.shortest_ways import ShortestWays

DELAY = 0.1
SIGMA = {"deviation": "10 ms"}


def drawn(jitter: Any, number: int = 40_000, rtt: float = 2 * DELAY) -> list[float]:
    """Return what messages of one pair take beyond the delay of the pair."""
    spec = NetworkSpec.model_validate({"latency": {"kind": "constant", "rtt": f"{rtt} s"}, "jitter": jitter})
    network, random = build_network(spec, [0, 0], 1), Random(1)
    delays = [network.delay(0, 1, random) for _ in range(number)]
    return [delay - rtt / 2 for delay in delays if delay is not None]


@pytest.mark.parametrize(
    "kind, middle, least, median",
    [("half-normal", 0.0132, 0.0, 0.0112), ("normal", 0.0, -0.04, 0.0), ("pareto", 0.0, -0.00577, -0.00277)],
)
def test_kinds_have_their_deviation_mean_and_least_value(
    kind: str, middle: float, least: float, median: float
) -> None:
    values = drawn({"kind": kind, **SIGMA})
    assert mean(values) == pytest.approx(middle, abs=3e-4)
    assert stdev(values) == pytest.approx(0.010, rel=0.12 if kind == "pareto" else 0.02)
    assert quantiles(values, n=2)[0] == pytest.approx(median, abs=2e-4)
    assert min(values) >= least - 1e-5


def test_a_plain_duration_is_half_normal() -> None:
    plain, named = drawn("10 ms"), drawn({"kind": "half-normal", **SIGMA})
    for a, b in zip(quantiles(plain, n=10), quantiles(named, n=10), strict=True):
        assert a == pytest.approx(b, rel=0.05)


def test_no_delay_is_negative() -> None:
    values = drawn({"kind": "normal", **SIGMA}, rtt=0.010)
    assert min(values) == -0.005 and values.count(-0.005) > 10_000


def test_quantiles_of_a_file_are_met_on_lines_between_its_points(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("# share and ms\n0 1\n0.5 2\n0.9 10\n1 50\n")
    values = drawn({"kind": "quantiles", "file": str(tmp_path / "q.txt")})
    tenths = quantiles(values, n=10)
    assert [tenths[each] * 1e3 for each in (4, 6, 8)] == pytest.approx([2, 6, 10], rel=0.1)
    assert 0.001 <= min(values) <= max(values) <= 0.050


@pytest.mark.parametrize("kind", ["half-normal", "normal", "pareto"])
def test_correlation_is_that_of_consecutive_messages_of_a_pair(kind: str) -> None:
    values = drawn({"kind": kind, **SIGMA, "correlation": "60 %"})
    ranks = {value: rank for rank, value in enumerate(sorted(values))}
    order = [ranks[value] for value in values]
    # The normal variables behind them are correlated by 0.6, so ranks by 6/pi asin(0.6/2) = 0.582.
    assert correlation(order, order[1:] + order[:1]) == pytest.approx(0.582, abs=0.02)
    assert stdev(values) == pytest.approx(0.010, rel=0.12 if kind == "pareto" else 0.03)


def test_pairs_are_not_correlated_with_each_other() -> None:
    spec = NetworkSpec.model_validate(
        {"latency": {"kind": "constant"}, "jitter": {"kind": "normal", **SIGMA, "correlation": 0.999}}
    )
    network, random = build_network(spec, [0, 0, 0], 1), Random(1)
    pairs = [(network.delay(0, 1, random), network.delay(0, 2, random)) for _ in range(20)]
    one, two = zip(*pairs, strict=True)
    assert abs(mean(one) - mean(two)) > 0.001


def test_the_shortest_ways_know_how_early_a_message_may_be() -> None:
    spec = {"latency": {"kind": "constant", "rtt": "100 ms"}}
    late = build_network(NetworkSpec.model_validate(spec | {"jitter": "10 ms"}), [0, 0], 1)
    early = build_network(
        NetworkSpec.model_validate(spec | {"jitter": {"kind": "normal", **SIGMA}}), [0, 0], 1
    )
    assert ShortestWays(late).least(0, 1, 0.0) == pytest.approx(0.05)
    assert ShortestWays(early).least(0, 1, 0.0) == pytest.approx(0.01)


EXPERIMENT = """\
name: e
system: vitis
peers: 5
workload: {subscriptions: {kind: random, topics: 10, per_peer: 1, buckets: 1}}
network: NETWORK
"""


def loaded(tmp_path: Path, network: str, more: str = "") -> Any:
    file = tmp_path / "e.yaml"
    file.write_text(EXPERIMENT.replace("NETWORK", network) + more)
    return load(file, [])


def test_hosts_get_the_quantiles_and_need_no_file(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("0 1\n1 50\n")
    spec = loaded(tmp_path, "{jitter: {kind: quantiles, file: q.txt}}")
    told = json.loads(spec_for_hosts(spec))["network"]["jitter"]
    assert (told["file"], told["points"]) == (None, [[0, 1], [1, 50]])
    assert max(drawn(told)) <= 0.050


@pytest.mark.parametrize(
    "network, told",
    [
        ("{jitter: {kind: normal}}", "network.jitter.deviation: is missing"),
        ("{jitter: {kind: normal, deviation: 5}}", "network.jitter.deviation: .*a unit"),
        ("{jitter: {kind: normal, deviation: 5 ms, correlation: 100 %}}", "network.jitter.correlation: "),
        ("{jitter: {kind: quantiles}}", "network.jitter.file: one of `file` and `points`"),
        ("{jitter: {kind: quantiles, file: no.txt}}", "network.jitter.file: .*no such file"),
        (
            "{jitter: {kind: quantiles, points: [[0, 1], [1, 0.5]]}}",
            "jitter.points.*: .*larger share",
        ),
        ("{jitter: {kind: quantiles, points: [[0, 1], [0.9, 2]]}}", "jitter.points.*: .*the share 1"),
        ("{jitter: {kind: quantiles, file: bad.txt}}", "network.jitter.file: .*bad.txt:2: is 'x'"),
        (
            "{jitter: {kind: quantiles, file: low.txt}}",
            "network.jitter.file: .*low.txt:1: has the value -1 ms",
        ),
    ],
)
def test_jitter_that_cannot_be_is_refused(tmp_path: Path, network: str, told: str) -> None:
    (tmp_path / "bad.txt").write_text("0 1\nx\n")
    (tmp_path / "low.txt").write_text("0 -1\n1 2\n")
    with pytest.raises(ExperimentError, match=told):
        loaded(tmp_path, network)


def test_netem_cannot_make_messages_early(tmp_path: Path) -> None:
    pods = "runtime: {kind: kubernetes, hosts: 5}\n"
    for kind, may in (("normal", False), ("half-normal", True)):
        network = f"{{jitter: {{kind: {kind}, deviation: 5 ms}}, enforce: netem}}"
        if may:
            assert loaded(tmp_path, network, pods).network.enforce == "netem"
        else:
            with pytest.raises(ExperimentError, match=r"network\.enforce: .*only the delay line"):
                loaded(tmp_path, network, pods)
