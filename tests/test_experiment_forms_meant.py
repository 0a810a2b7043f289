"""A value in another form, or with another unit, is answered by what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load

EXPERIMENT = """\
name: small
system: vitis
peers: 20
network: {latency: {kind: constant, rtt: 50 ms}}
workload:
  subscriptions: {kind: high, topics: 40, buckets: 4, per_peer: 8}
  publications: {events: 20}
phases: {join: 3 s, settle: 5 s, measure: 8 s, drain: 4 s}
"""


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("network.bandwidth=10 Mbps", "Write {up: 10 Mbit/s, down: 10 Mbit/s}"),
        ("network.bandwidth=20", "Write {up: 20 Mbit/s, down: 20 Mbit/s}"),
        ("network.bandwidth={up: 10 kbps}", 'Write "10 kbit/s"'),
        ("network.bandwidth={up: 10 MB/s}", 'Write "80 Mbit/s"'),
        ("network.bandwidth={up: 10}", 'Write "10 Mbit/s" if it is in Mbit/s'),
        ("network.bandwidth={up: 20000000}", 'Write "20 Mbit/s" if it is in bit/s'),
        ("network.bandwidth={up: 50000}", 'Write "50 kbit/s" if it is in bit/s'),
        ("network.bandwidth=0", "Remove it if the links of peers are unlimited"),
        ("network.bandwidth=unlimited", "Remove it if the links of peers are unlimited"),
        ("network.latency.rtt='100'", 'Write "100 ms" if it is in milliseconds'),
        ("network.later=[{at: 5, latency: {kind: constant, rtt: 9 ms}}]", 'Write "5 s" if it is in seconds'),
        ("processing.message=5", 'Write "5 ms" if it is in milliseconds'),
        ("faults=[{name: cut, at: 9 s, for: 3 s, links: {delay: 200}}]", 'Write "200 ms" if'),
        ("faults=[{name: cut, at: 9 s, crash: 5}]", "Write {number: 5}"),
        ("faults=[{name: cut, at: 9 s, pause: 10 s}]", "for: 10 s"),
        ("phases=60", "Write {measure: 60 s}"),
        ("network.regions={eu: {share: 0.3}, us: {share: 0.7}}", "[{name: eu, share: 0.3}, {name: us, share"),
        ("network.bandwidth={kind: fixed}", "Bandwidth has no kinds"),
        ("network.bandwidth.nodes=world.gml", "Write {file: world.gml}"),
        ("network.latency=50", "Write {kind: constant, rtt: 50 ms}"),
        ("network.latency.rtt=50", 'Write "50 ms"'),
        ("network.latency.rtt=50 msec", 'Write "50 ms"'),
        ("network.loss={mean: 1 %}", "Write kind: bursts beside its keys"),
        ("network.regions=[eu, us]", "Write {name: eu, share: 0.5}"),
        ("network.regions={eu: 0.3, us: 0.7}", "Write [{name: eu, share: 0.3}, {name: us, share: 0.7}]"),
        ("network.regions=[{name: eu}]", 'Add it, such as "share: 0.5"'),
        ("phases=10 s", "Write {measure: 10 s}"),
        ("phases.measure=8", 'Write "8 s"'),
        ("phases={warmup: 3 s}", 'this one is "settle", such as settle: 30 s'),
        ("faults=[{at: 9 s, for: 3 s, partition: {share: 0.5}}]", 'Add it, such as "name: split"'),
        ("faults=[{name: cut, at: 9 s, for: 3 s, partition: us}]", "Write {region: us}"),
        ("faults=[{name: cut, at: 9 s, for: 3 s, partition: 50 %}]", "Write {share: 50 %}"),
        ("faults={name: cut, at: 9 s, crash: {share: 0.5}}", 'Write "- " before its first key'),
        ('expect=["hit_ratio during split >= 50 %"]', 'Write "hit_ratio >= 50 % during split"'),
        ('expect=["hit_ratio from 9 s to 12 s >= 1"]', 'Write "hit_ratio >= 1 from 9 s until 12 s"'),
    ],
)
def test_what_to_write_is_told(tmp_path: Path, written: str, told: str) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    with pytest.raises(ExperimentError) as refused:
        load(file, [written])
    assert told in " ".join(str(refused.value).split())


@pytest.mark.parametrize(
    ("wrong", "told", "mended"),
    [
        (
            "system=[vitis, rvr]",
            "Write vary: {system.name: [vitis, rvr]}",
            ["vary={system.name: [vitis, rvr]}"],
        ),
        ("peers=[10, 20]", "Write vary: {peers: [10, 20]}", ["vary={peers: [10, 20]}"]),
        (
            "network.latency.rtt=[9 ms, 20 ms]",
            "Write vary: {network.latency.rtt: [9 ms, 20 ms]}",
            ["vary={network.latency.rtt: [9 ms, 20 ms]}"],
        ),
        (
            "system.parameters.friends=[4, 8]",
            "Write vary: {system.parameters.friends: [4, 8]}",
            ["vary={system.parameters.friends: [4, 8]}"],
        ),
        ("compare=[vitis, RVR]", "vary: {system.name: [vitis, rvr]}", ["vary={system.name: [vitis, rvr]}"]),
        ("vary={network.loss: '0, 0.1'}", "Write [0, 0.1]", ["vary={network.loss: [0, 0.1]}"]),
        ("vary={network.loss: 0, 0.1}", "Write network.loss: [0, 0.1]", ["vary={network.loss: [0, 0.1]}"]),
        (
            "churn={rate: 10 %}",
            "Write model: {kind: poisson, mean_session: 60 s, mean_gap: 20 s}",
            ["churn={model: {kind: poisson, mean_session: 60 s, mean_gap: 20 s}}"],
        ),
        (
            "churn={poisson: {mean_session: 9 s}}",
            "Write model: {kind: poisson, mean_session: 9 s, mean_gap: 20 s}",
            ["churn={model: {kind: poisson, mean_session: 9 s, mean_gap: 20 s}}"],
        ),
        (
            "churn={kind: poisson, mean_session: 9 s}",
            "Write model: {kind: poisson, mean_session: 9 s, mean_gap: 20 s}",
            ["churn={model: {kind: poisson, mean_session: 9 s, mean_gap: 20 s}}"],
        ),
        (
            "churn={model: {kind: poisson, mean_session: 60 s}}",
            'such as "mean_gap: 20 s"',
            ["churn={model: {kind: poisson, mean_session: 60 s, mean_gap: 20 s}}"],
        ),
        (
            "churn=poisson",
            "Write {model: {kind: poisson, mean_session: 60 s, mean_gap: 20 s}}",
            ["churn={model: {kind: poisson, mean_session: 60 s, mean_gap: 20 s}}"],
        ),
        (
            "churn=10 %",
            "Write {model: {kind: poisson, mean_session: 60 s, mean_gap: 20 s}}",
            ["churn={model: {kind: poisson, mean_session: 60 s, mean_gap: 20 s}}"],
        ),
        ("churn=none", "Remove it, or write {model: {kind: static}}", ["churn={model: {kind: static}}"]),
        ("churn=false", "Remove it, or write {model: {kind: static}}", ["churn={model: {kind: static}}"]),
        ("churn={crash: 50 %}", "Write {at: 8 s, share: 50 %}", ["churn={crash: {at: 8 s, share: 50 %}}"]),
        (
            "faults=[{kind: partition, name: cut, at: 9 s, for: 3 s}]",
            "Write partition: {share: 0.5}",
            ["faults=[{name: cut, at: 9 s, for: 3 s, partition: {share: 0.5}}]"],
        ),
        (
            "faults=[{type: crash, share: 0.1, name: cut, at: 9 s, for: 3 s}]",
            "Write crash: {share: 0.1}",
            ["faults=[{name: cut, at: 9 s, for: 3 s, crash: {share: 0.1}}]"],
        ),
        (
            "faults=[{kind: Kill, number: 3, name: cut, at: 9 s, for: 3 s}]",
            "Write crash: {number: 3}",
            ["faults=[{name: cut, at: 9 s, for: 3 s, crash: {number: 3}}]"],
        ),
        (
            "faults=[{links: {share: 0.5}, delay: 9 ms, name: cut, at: 9 s, for: 3 s}]",
            "Write links: {share: 0.5, delay: 9 ms}",
            ["faults=[{name: cut, at: 9 s, for: 3 s, links: {share: 0.5, delay: 9 ms}}]"],
        ),
        (
            "faults=[{kind: quake, name: cut, at: 9 s, for: 3 s}]",
            "such as crash: {share: 0.1}",
            ["faults=[{name: cut, at: 9 s, for: 3 s, crash: {share: 0.1}}]"],
        ),
        (
            "workload=lookups",
            "Write {lookups: {rate: 25}}",
            ["system=chord", "workload={lookups: {rate: 25}}"],
        ),
        (
            "workload=pubsub",
            "publications: {events: 20}}",
            [
                "workload.subscriptions={kind: high, topics: 5000, per_peer: 50}",
                "workload.publications={events: 20}",
            ],
        ),
        ("workload={lookups: 5}", "Write {rate: 5}", ["system=chord", "workload={lookups: {rate: 5}}"]),
        ("workload.publications=30", "Write {events: 30}", ["workload.publications={events: 30}"]),
        (
            "workload.subscriptions=10",
            "Write {kind: high, topics: 5000, per_peer: 50}",
            ["workload.subscriptions={kind: high, topics: 5000, per_peer: 50}"],
        ),
        (
            "workload.publications={count: 20, size_bytes: 99}",
            "Write events: 20",
            ["workload.publications={events: 20, payload_bytes: 99}"],
        ),
        (
            "workload.publications={size_bytes: 99}",
            "payload_bytes: 99",
            ["workload.publications={payload_bytes: 99}"],
        ),
        ("workload.publications={rate: 10}", "Write events: 80", ["workload.publications={events: 80}"]),
        ("workload.publications.events=10/s", "Write events: 80", ["workload.publications={events: 80}"]),
        ("peers=10k", "Write 10000", ["peers=10000"]),
        ("peers='10,000'", "Write 10000", ["peers=10000"]),
        (
            "workload.publications.rates=zipf",
            "Write {kind: power-law, alpha: 1}",
            ["workload.publications.rates={kind: power-law, alpha: 1}"],
        ),
        (
            "churn.model={kind: exponential, mean_session: 9 s}",
            "Write {kind: poisson, mean_session: 9 s, mean_gap: 20 s}",
            ["churn.model={kind: poisson, mean_session: 9 s, mean_gap: 20 s}"],
        ),
        (
            "churn.model.kind=weibull",
            "Write {kind: pareto, mean_session: 60 s, mean_gap: 20 s}",
            ["churn.model={kind: pareto, mean_session: 60 s, mean_gap: 20 s}"],
        ),
        (
            "network.loss.kind=gilbert",
            "Write {kind: bursts, mean: 1 %, burst: 4}",
            ["network.loss={kind: bursts, mean: 1 %, burst: 4}"],
        ),
        (
            "network.jitter.kind=uniform",
            "Write {kind: quantiles, points: [[0, 0], [1, 10]]}",
            ["network.jitter={kind: quantiles, points: [[0, 0], [1, 10]]}"],
        ),
        ("runtime=k8s", "Write {kind: kubernetes}", ["runtime={kind: kubernetes}"]),
        ("network.loss=none", "Remove it", []),
        ("network.jitter=none", "Remove it", []),
        ("faults=none", "Remove it", []),
        (
            "network.delay=30 ms",
            "Write latency: {kind: constant, rtt: 60 ms}",
            ["network.latency={kind: constant, rtt: 60 ms}"],
        ),
        ("network.packet_loss=2 %", "Write loss: 2 %", ["network.loss=2 %"]),
        ("network.packet_loss=200", "Write loss: 1 %", ["network.loss=1 %"]),
        ("packet_loss=2 %", "Write loss: 2 % below `network`", ["network.loss=2 %"]),
        (
            "network.latency={min: 9 ms, max: 20 ms}",
            "latency: {kind: constant, rtt: 50 ms}",
            ["network.latency={kind: constant, rtt: 50 ms}", "network.jitter=5 ms"],
        ),
        ("system=VITIS", 'Write "vitis"', ["system=vitis"]),
        ("system=libp2p", 'Write "gossipsub"', ["system=gossipsub"]),
        ("system=scribe", "Write one of scribe-chord, scribe-kademlia, ", ["system=scribe-chord"]),
        ("repeat=[1, 2]", "Write seed: 1 and repeat: 2", ["seed=1", "repeat=2"]),
        ("expect={hit_ratio: 0.99}", 'Write ["hit_ratio >= 99 %"]', ['expect=["hit_ratio >= 99 %"]']),
        ("expect={hit_ratio: {least: 1}}", 'Write ["hit_ratio >= 99 %"]', ['expect=["hit_ratio >= 99 %"]']),
        ("metrics=[hit_ratio]", 'expect: ["hit_ratio >= 99 %"]', ['expect=["hit_ratio >= 99 %"]']),
    ],
)
def test_what_is_told_to_write_is_accepted(tmp_path: Path, wrong: str, told: str, mended: list[str]) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    with pytest.raises(ExperimentError) as refused:
        load(file, [wrong])
    assert told in " ".join(str(refused.value).split())
    load(file, mended)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("system={name: vitis, fanout: 5}", "below `parameters`; `trellis systems vitis` lists them"),
        ("system={fanout: 5}", 'such as "name: vitis"'),
        (
            "network.latency={kind: file}",
            "read from a `file` are p2psim-matrix, p2psim-topology, planetlab, pairs, graph",
        ),
        ("repeat=[1, 4]", "has to be a whole number"),
        ("system.parameters={kind: file, file: 3}", "system.parameters.file: is not a parameter of vitis"),
        ("system.parameters.nodes=5", "is not a parameter of vitis. Known: friends"),
        (
            "system.parameters.fanout=6",
            "stale_after, view. Name one of these or remove it; `trellis systems vitis` explains them",
        ),
        ("workload.subscriptions.topics=five hundred", 'a whole number, such as "topics: 500"'),
        ("repeat=few", 'a whole number, such as "repeat: 3"'),
        ("system.parameters.friends=90k", "has to be a whole number"),
    ],
)
def test_the_end_of_an_answer_is_where_more_is_found(tmp_path: Path, wrong: str, told: str) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    with pytest.raises(ExperimentError) as refused:
        load(file, [wrong])
    assert told in str(refused.value)
    assert "Write" not in str(refused.value)


def test_nothing_is_advised_for_what_is_below_zero(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    with pytest.raises(ExperimentError) as refused:
        load(file, ["network.latency.rtt=-5"])
    assert '"-5' not in str(refused.value)


def test_a_condition_that_stays_wrong_in_another_order_is_not_advised(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    with pytest.raises(ExperimentError) as refused:
        load(file, ['expect=["hit_ratio from 9 s to 12 s => 99"]'])
    assert "Write" not in str(refused.value)
