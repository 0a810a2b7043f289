"""Loss in bursts: shares and lengths as asked for, drawn for each ordered pair by itself."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import mean

import pytest
from link_figures import BURSTS, burst_lengths, hits_of

from emulator.experiment.file.load import ExperimentError, load
from emulator.network.build_network import build_network
from emulator.network.burst_loss import Bursts
from emulator.network.spec import NetworkSpec


def bursts(share: float, burst: float) -> Bursts:
    return Bursts.model_validate({"kind": "bursts", "mean": share, "burst": burst})


def lost(model: Bursts, messages: int, pairs: int = 1, seed: int = 1) -> list[list[bool]]:
    """Return, for so many pairs in turn, which of their messages are lost."""
    loss, random = model.begin(seed), Random(1)
    hits = [[loss.hits(pair, 7, random) for pair in range(pairs)] for _ in range(messages)]
    return [list(of_pair) for of_pair in zip(*hits, strict=True)]


@pytest.mark.parametrize("share, burst", BURSTS)
def test_share_and_bursts_are_as_asked_for(share: float, burst: float) -> None:
    hits = hits_of(share, burst, 800_000)
    lengths = burst_lengths(hits)
    assert mean(hits) == pytest.approx(share, rel=0.02)
    assert mean(lengths) == pytest.approx(burst, rel=0.02)
    # A burst goes on with the same probability however long it is.
    longer = sum(length > 2 for length in lengths) / len(lengths)
    assert longer == pytest.approx((1 - 1 / burst) ** 2, abs=0.02)


def test_the_first_message_finds_the_stationary_distribution() -> None:
    first = [hits[0] for hits in lost(bursts(0.3, 20), 1, pairs=20_000)]
    assert mean(first) == pytest.approx(0.3, abs=0.01)


def test_what_a_pair_loses_depends_on_seed_and_pair_alone() -> None:
    model, random = bursts(0.3, 3), Random(1)
    alone = lost(model, 500)[0]
    assert alone == lost(model, 500, pairs=3)[0]
    assert alone != lost(model, 500, pairs=3)[1]
    assert alone != lost(model, 500, seed=2)[0]
    state = random.getstate()
    model.begin(1).hits(0, 7, random)
    assert random.getstate() == state


def test_the_network_loses_what_the_seed_of_the_trial_says() -> None:
    asked = NetworkSpec.model_validate(
        {"latency": {"kind": "constant"}, "loss": {"kind": "bursts", "mean": "30 %", "burst": 3}}
    )
    network, random = build_network(asked, [0] * 9, seed=5), Random(1)
    assert not network.is_plain
    gone = [network.delay(0, 7, random) is None for _ in range(200)]
    assert gone == lost(bursts(0.3, 3), 200, seed=5)[0]


@pytest.mark.parametrize(
    "loss, told",
    [
        ("{kind: bursts, mean: 60 %, burst: 1}", "loss.burst: .*at least 1.5, or `mean` at most 0.5"),
        ("{kind: bursts, mean: 0, burst: 2}", "loss.mean: "),
        ("{kind: bursts, mean: 1 %, burst: 0.5}", "loss.burst: "),
        ("{kind: bursts, mean: 1 %}", "loss.burst: is missing"),
        ("{kind: burst, mean: 1 %}", r"loss: .*Write \{kind: bursts, mean: 1 %, burst: 4\}"),
    ],
)
def test_bursts_that_cannot_be_are_refused(tmp_path: Path, loss: str, told: str) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(f"name: e\nsystem: vitis\npeers: 5\nworkload: {{}}\nnetwork: {{loss: {loss}}}\n")
    with pytest.raises(ExperimentError, match=f"e.yaml:5: network.{told}"):
        load(file, [])
