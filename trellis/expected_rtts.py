"""The round-trip times between the peers of an experiment, as its trials will have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.variants import Trial
from emulator.network.build_network import build_network, draw_locations

QUANTILES: Final = (0.05, 0.5, 0.95)
_PAIRS: Final = 4000
_NETWORKS: Final = 4
"""The most networks of an experiment that are looked at, the first ones."""


def expected_rtts(trials: Sequence[Trial]) -> dict[str, list[float]]:
    """Return the least and the largest of each of `QUANTILES` of the RTTs (ms) between two peers.

    They are those of the first seed of each of the first networks, without jitter and links' rates, from a
    draw of pairs. There are none with fewer than two peers. Raises TraceError for a bad latency file.
    """
    networks: dict[str, TrialSpec] = {}
    for trial in trials:
        key = trial.spec.model_dump_json(include={"network", "peers"})
        if key not in networks and len(networks) < _NETWORKS and trial.spec.peers > 1:
            networks[key] = trial.spec
    found = np.array([_quantiles(spec) for spec in networks.values()])
    return {
        f"p{100 * share:g}": [round(float(of.min()), 3), round(float(of.max()), 3)]
        for share, of in zip(QUANTILES, found.T if len(found) else (), strict=False)
    }


def _quantiles(spec: TrialSpec) -> list[float]:
    network = build_network(
        spec.network, draw_locations(spec.network, spec.peers, spec.seed).tolist(), spec.seed
    )
    random = np.random.default_rng(0)
    one = random.integers(spec.peers, size=_PAIRS)
    other = (one + random.integers(1, spec.peers, size=_PAIRS)) % spec.peers
    both = zip(one.tolist(), other.tolist(), strict=True)
    rtts = [1e3 * (network.one_way(a, b) + network.one_way(b, a)) for a, b in both]
    return [float(value) for value in np.quantile(rtts, QUANTILES)]
