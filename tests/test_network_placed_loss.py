"""Loss by the classes of peers' links, and between regions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from test_experiment_load import problems

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.network.build_network import build_network
from emulator.network.peer_network import Network

REGIONS: dict[str, Any] = {
    "kind": "regions",
    "regions": [{"name": "eu", "share": 0.5}, {"name": "us", "share": 0.5}],
    "rtt": {"eu": {"eu": "10 ms", "us": "80 ms"}, "us": {"us": "12 ms"}},
}
CLASSES = [{"name": "home", "share": 0.5, "loss": 0.1}, {"name": "fibre", "share": 0.5, "up": "1 Gbit/s"}]
SENT = 4000


def network(peers: int = 8, **fields: Any) -> tuple[Network, list[dict[str, Any]]]:
    asked = TrialSpec.model_validate(
        {"system": {"name": "vitis"}, "peers": peers, "network": fields}
        | {"workload": {"subscriptions": {"kind": "random", "topics": 10, "per_peer": 2, "buckets": 1}}}
    )
    rows = draw_plan(asked).peers.to_pylist()
    places, classes = ([row[name] for row in rows] for name in ("location", "link_class"))
    return build_network(asked.network, places, asked.seed, classes), rows


def lost(tested: Network, sender: int, receiver: int) -> float:
    random = Random(sender * 100 + receiver)
    return sum(tested.delay(sender, receiver, random) is None for _ in range(SENT)) / SENT


def test_a_message_is_lost_on_the_link_of_its_sender_or_of_its_receiver() -> None:
    tested, peers = network(bandwidth={"classes": CLASSES})
    expected = {(0, 0): 1 - 0.9 * 0.9, (0, 1): 0.1, (1, 0): 0.1, (1, 1): 0.0}
    seen: Counter[tuple[int, int]] = Counter()
    for sender, one in enumerate(peers):
        for receiver, other in enumerate(peers):
            if sender != receiver:
                pair = one["link_class"], other["link_class"]
                seen[pair] += 1
                assert lost(tested, sender, receiver) == pytest.approx(expected[pair], abs=0.025)
    assert len(seen) == 4
    assert not tested.is_plain


def test_loss_between_regions_is_that_of_the_pair_in_both_directions() -> None:
    tested, peers = network(latency=REGIONS | {"loss": [{"between": ["us", "eu"], "share": 0.2}]})
    for sender, one in enumerate(peers):
        for receiver, other in enumerate(peers):
            if sender != receiver:
                share = 0.2 if one["region"] != other["region"] else 0.0
                assert lost(tested, sender, receiver) == pytest.approx(share, abs=0.03)


def test_all_losses_are_independent_of_each_other() -> None:
    latency = REGIONS | {"loss": [{"between": ["eu", "eu"], "share": 0.2}]}
    everybody = [{"name": "all", "share": 1.0, "loss": 0.1, "down": "1 Gbit/s"}]
    tested, peers = network(latency=latency, bandwidth={"classes": everybody}, loss=0.3)
    one, other = [n for n, peer in enumerate(peers) if peer["region"] == "eu"][:2]
    assert lost(tested, one, other) == pytest.approx(1 - 0.9 * 0.9 * 0.8 * 0.7, abs=0.03)


def test_a_network_without_such_loss_draws_nothing() -> None:
    tested, _ = network(latency=REGIONS, bandwidth={"up": "1 Gbit/s"})
    random = Random(5)
    before = random.getstate()
    assert tested.is_plain and tested.delay(0, 1, random) is not None
    assert random.getstate() == before


FILE = """\
name: lossy
system: {name: vitis}
peers: 20
workload: {subscriptions: {kind: random, topics: 10, per_peer: 2, buckets: 1}}
network:
  latency:
    kind: regions
    regions: [{name: eu, share: 0.5}, {name: us, share: 0.5}]
    rtt: {eu: {eu: 10 ms, us: 80 ms}, us: {us: 12 ms}}
    loss:
"""


@pytest.mark.parametrize(
    ("loss", "line", "told"),
    [
        ("- {between: [eu, asia], share: 1 %}", 11, 'there is no region "asia". There are eu, us'),
        ("- {between: [eu, us], share: 100 %}", 11, "has to be below 1"),
        ("- {between: [eu], share: 1 %}", 11, "at least 2 entries"),
        (
            "- {between: [eu, us], share: 1 %}\n      - {between: [us, eu], share: 2 %}",
            12,
            "us and eu are there twice. Write the pair once",
        ),
    ],
)
def test_loss_of_regions_that_cannot_be_is_refused_in_its_line(
    tmp_path: Path, loss: str, line: int, told: str
) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(f"{FILE}      {loss}\n")
    (found,) = problems(file)
    assert found.startswith(f"experiment.yaml:{line}: network.latency.loss")
    assert told in found


def test_a_class_without_rates_and_loss_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    head = FILE.partition("network:")[0]
    file.write_text(f"{head}network: {{bandwidth: {{classes: [{{name: all, share: 1}}]}}}}\n")
    (found,) = problems(file)
    assert "no class has `up`, `down` or `loss`" in found
