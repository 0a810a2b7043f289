"""The real traces, where they are: facts of the files, and a plan from all three.

TRELLIS_DATA names the directory with skype.avt, planetlab490.tsv and twitter-ego.edges.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from emulator.churn.avt import load_avt
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.network.build_network import build_network
from emulator.network.matrix_files import load_rtt
from emulator.network.spec import MatrixFile
from emulator.workload.followers import load_followers, sample

DATA = Path(os.environ.get("TRELLIS_DATA", ""))
pytestmark = pytest.mark.skipif(
    "TRELLIS_DATA" not in os.environ, reason="TRELLIS_DATA does not name a directory with the real traces"
)
DAY = 86_400.0


def test_planetlab_matrix_has_its_facts() -> None:
    found = load_rtt(MatrixFile(kind="planetlab", file=DATA / "planetlab490.tsv"))
    assert found.rtt.shape == (490, 490)
    assert found.filled_pairs == 0
    pairs = found.rtt[np.triu_indices(490, 1)] * 1000
    assert pairs.mean() == pytest.approx(146.8, abs=0.1)
    quantiles = np.percentile(pairs, [1, 5, 10, 25, 50, 75, 90, 95, 99, 100])
    assert quantiles == pytest.approx([6.1, 19.3, 31.6, 59.3, 135, 202, 291, 325, 413, 2984], rel=0.01)


def test_skype_trace_has_its_facts() -> None:
    trace = load_avt(DATA / "skype.avt")
    assert (trace.nodes, len(trace.start)) == (2081, 29_217)
    length = (trace.end - trace.start) / 3600
    assert length.mean() == pytest.approx(16.27, abs=0.01)
    assert np.median(length) == pytest.approx(5.11, abs=0.01)
    edges = np.unique(np.concatenate([trace.start, trace.end]))
    silence = int(np.argmax(np.diff(edges)))
    assert edges[silence] / DAY > 25


def test_twitter_graph_has_its_facts_and_a_sample_keeps_its_density() -> None:
    graph = load_followers(DATA / "twitter-ego.edges", first="followed")
    assert np.bincount(graph.followed).max() == 3469
    assert (graph.nodes, len(graph.follower)) == (13_688, 68_328)
    assert (graph.duplicates, graph.self_loops) == (0, 0)
    part = sample(graph, 5000, np.random.default_rng(1))
    assert 3 < len(part.follower) / part.nodes < 15


def test_a_trial_with_all_three_can_be_planned() -> None:
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "vitis"},
            "peers": 1000,
            "network": {"latency": {"kind": "planetlab", "file": DATA / "planetlab490.tsv"}},
            "churn": {"model": {"kind": "trace", "file": DATA / "skype.avt"}},
            "workload": {
                "subscriptions": {"kind": "edges", "file": DATA / "twitter-ego.edges", "first": "followed"}
            },
        }
    )
    plan = draw_plan(spec)
    up = sum(row["start_s"] <= 40 < row["end_s"] for row in plan.sessions.to_pylist())
    assert up / 1000 == pytest.approx(0.3, abs=0.06)
    assert plan.publications.num_rows == 200
    network = build_network(spec.network, plan.peers["location"].to_pylist(), spec.seed)
    assert len(network.rows) == 490
