"""The generated matrix has the statistics of the King measurements."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from emulator.contract.random_streams import generator
from emulator.network.king_like import king_rtt

HOSTS = 1740


@pytest.fixture(scope="module")
def rtt() -> NDArray[np.float64]:
    return king_rtt(HOSTS, 0.180, generator(7, "test")).astype(np.float64)


def test_is_symmetric_with_an_empty_diagonal_and_positive_elsewhere(rtt: NDArray[np.float64]) -> None:
    assert rtt.shape == (HOSTS, HOSTS)
    assert (rtt == rtt.T).all()
    assert (np.diag(rtt) == 0).all()
    assert (rtt[np.triu_indices(HOSTS, 1)] > 0).all()


def test_quantiles_are_those_of_king(rtt: NDArray[np.float64]) -> None:
    pairs = rtt[np.triu_indices(HOSTS, 1)] * 1000
    assert pairs.mean() == pytest.approx(180, rel=1e-4)
    found = np.percentile(pairs, [1, 5, 10, 25, 50, 75, 90, 95, 99])
    assert found == pytest.approx([24.5, 42, 57, 97, 165, 244, 324, 375, 473], rel=0.06)
    assert 900 < pairs.max() < 2000


def test_two_hop_detours_are_as_frequent_as_in_king(rtt: NDArray[np.float64]) -> None:
    random = np.random.default_rng(0)
    first, second = random.integers(0, HOSTS, (2, 4000))
    first, second = first[first != second], second[first != second]
    legs = rtt + np.diag(np.full(HOSTS, np.inf))
    best = np.array([(legs[i] + legs[j]).min() for i, j in zip(first, second, strict=True)])
    gain = best / rtt[first, second]
    assert (gain < 1).mean() == pytest.approx(0.84, abs=0.03)
    assert (gain < 0.8).mean() == pytest.approx(0.25, abs=0.04)


def test_triangle_violations_are_as_frequent_as_in_king(rtt: NDArray[np.float64]) -> None:
    triples = np.random.default_rng(0).integers(0, HOSTS, (200_000, 3))
    a, b, c = triples[[len(set(t)) == 3 for t in triples.tolist()]].T
    sides = np.sort([rtt[a, b], rtt[b, c], rtt[a, c]], axis=0)
    assert (sides[2] > sides[0] + sides[1]).mean() == pytest.approx(0.165, abs=0.015)


def test_the_mean_is_the_one_asked_for_at_any_size() -> None:
    for hosts in (2, 3, 300):
        rtt = king_rtt(hosts, 0.050, generator(1, "test"))
        assert rtt[np.triu_indices(hosts, 1)].mean() == pytest.approx(0.050, rel=1e-4)


def test_only_the_seed_decides() -> None:
    one, same, other = (king_rtt(50, 0.18, generator(seed, "test")) for seed in (1, 1, 2))
    assert (one == same).all()
    assert not (one == other).all()
