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
