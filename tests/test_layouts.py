"""What is laid out before a trial: trees against scipy's, HAC against figure 5 step by step."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.layouts.cliques import cluster, mean_inside
from emulator.layouts.layout import lay_out, round_trips
from emulator.layouts.trees import shortest_path_tree, spanning_length, spanning_tree

Rtt = NDArray[np.float64]


def random_rtt(seed: int, servers: int) -> Rtt:
    random = np.random.default_rng(seed)
    points = random.random((servers, 2))
    rtt = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1)) * random.uniform(
        1, 1.5, (servers, servers)
    )
    rtt = np.triu(rtt, 1)
    full: Rtt = rtt + rtt.T
    return full


def figure_5(rtt: Rtt, diameter: float, size: int) -> set[frozenset[int]]:
    """Return the cliques of the paper's algorithm, as it is written but for its end."""
    cliques = [frozenset([server]) for server in range(len(rtt))]

    def apart(pair: tuple[frozenset[int], frozenset[int]]) -> float:
        return max(float(rtt[a, b]) for a in pair[0] for b in pair[1])

    while True:
        pairs = sorted(combinations(cliques, 2), key=apart)
        fitting = [p for p in pairs if apart(p) <= diameter and len(p[0]) + len(p[1]) <= size]
        if not fitting:
            return set(cliques)
        one, two = fitting[0]
        cliques = [c for c in cliques if c not in (one, two)] + [one | two]


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 14), st.floats(0.05, 1.5), st.integers(2, 6))
def test_clustering_is_that_of_figure_5_and_ends(seed: int, servers: int, diameter: float, size: int) -> None:
    rtt = random_rtt(seed, servers)
    found = cluster(rtt, diameter, size)
    assert {frozenset(clique) for clique in found} == figure_5(rtt, diameter, size)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(6, 20))
def test_a_clique_below_the_minimum_joins_one_with_room(seed: int, servers: int) -> None:
    found = cluster(random_rtt(seed, servers), 0.2, 6, minimum=3)
    assert sorted(server for clique in found for server in clique) == list(range(servers))
    assert max(map(len, found)) <= 6
    small = [clique for clique in found if len(clique) < 3]
    assert all(len(other) + len(clique) > 6 for clique in small for other in found if other is not clique)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 20))
def test_trees_are_as_short_as_scipys(seed: int, servers: int) -> None:
    rtt = random_rtt(seed, servers)
    parents = spanning_tree(rtt, root=1)
    assert parents[1] == -1
    length = sum(rtt[server, parent] for server, parent in enumerate(parents) if parent >= 0)
    assert length == pytest.approx(minimum_spanning_tree(rtt).sum()) == pytest.approx(spanning_length(rtt))
    paths = shortest_path_tree(rtt, root=1)
    best = dijkstra(rtt, indices=1)
    for server in range(servers):
        at, length = server, 0.0
        while at != 1:
            at, length = paths[at], length + rtt[at, paths[at]]
        assert length == pytest.approx(best[server])


def test_mean_inside_counts_pairs_of_one_clique() -> None:
    rtt = np.array([[0, 1, 5], [1, 0, 7], [5, 7, 0]], float)
    assert mean_inside([[0, 1], [2]], rtt) == 1
    assert mean_inside([[0, 1, 2]], rtt) == pytest.approx(13 / 3)


def spec(system: str, **parameters: object) -> TrialSpec:
    return TrialSpec.model_validate(
        {
            "system": {"name": system, "parameters": parameters},
            "peers": 20,
            "network": {"latency": {"kind": "king", "hosts": 40}},
            "workload": {
                "subscriptions": {"kind": "boxes", "per_peer": 3, "interested": 5},
                "publications": {"events": 50, "publisher": "any"},
            },
        }
    )


def test_peers_are_given_what_was_laid_out_and_nothing_is_laid_out_twice() -> None:
    for system in (
        spec("siena"),
        spec("groups", groups=4),
        spec("kyra", zones="plan", grown="spanning", cliques={"formed": "hac"}),
    ):
        plan = draw_plan(system)
        once = lay_out(system, plan)
        assert once.system.parameters != system.system.parameters
        assert lay_out(once, plan) == once
        assert TrialSpec.model_validate_json(once.model_dump_json()) == once


def test_a_diameter_that_no_pair_meets_is_told() -> None:
    system = spec("kyra", cliques={"diameter": "1 ms"})
    with pytest.raises(ValueError, match="no two servers are within the cliques' diameter of 1 ms"):
        lay_out(system, draw_plan(system))


def test_a_diameter_that_no_pair_meets_is_told_with_its_line_when_the_file_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "narrow.yaml"
    file.write_text(
        """name: narrow
peers: 20
network: {latency: {kind: king, hosts: 40}}
vary:
  system.parameters.cliques.diameter:
    - 1 ms
    - 150 ms
system:
  name: kyra
  parameters: {attributes: {x: [0, 100]}}
workload:
  subscriptions: {kind: boxes, attributes: {x: [0, 100]}, per_peer: 2}
  publications: {events: 10, publisher: any}
"""
    )
    with pytest.raises(
        ExperimentError, match=r"narrow.yaml:6.*no two servers are within the cliques' diameter"
    ) as told:
        load(file)
    assert len(told.value.problems) == 1
    load(file, ["vary.system.parameters.cliques.diameter=[150 ms]"])


@pytest.mark.parametrize(
    ("system", "parameter", "line", "told"),
    [
        ("kyra", "attributes: {y: [0, 1]}", 10, "kyra knows y, not x"),
        ("kyra", "cliques: {size: 3, minimum: 4}", 7, "at most 3 members"),
        ("siena", "parents: [-1, 0, -1]", 7, "this one has 2"),
        ("siena", "parents: [-1, 2, 1]", 7, "does not lie below"),
        ("siena", "parents: [-1, 0]", 7, "has 2 servers, not 3"),
    ],
)
def test_parameters_that_cannot_be_met_are_told_with_their_line(
    system: str, parameter: str, line: int, told: str, tmp_path: Path
) -> None:
    attributes = "attributes: {x: [0, 1]}"
    file = tmp_path / "bad.yaml"
    file.write_text(
        f"""name: bad
peers: 3
system:
  name: {system}
  parameters:
    beat: 1 s
    {parameter}
    {"" if parameter.startswith("attributes") else attributes}
workload:
  subscriptions: {{kind: boxes, {attributes}, per_peer: 2}}
  publications: {{events: 10, publisher: any}}
"""
    )
    with pytest.raises(ExperimentError, match=rf"bad.yaml:{line}.*{told}") as refused:
        load(file)
    assert len(refused.value.problems) == 1


def test_round_trips_are_those_of_the_matrix() -> None:
    system = spec("siena")
    plan = draw_plan(system)
    rtt = round_trips(system, plan)
    assert rtt.shape == (20, 20) and np.allclose(rtt, rtt.T) and not rtt.diagonal().any()
    assert 0.05 < rtt.mean() < 0.4
