"""The experiments of a paper have all that its claims ask for, and its setting where they are set to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.claims.papers import judge
from analysis.measures.variant_results import VariantResult, estimate
from emulator.experiment.file.load import load
from emulator.experiment.file.variants import variants

PAPERS = Path(__file__).parents[1] / "experiments" / "papers"
MEASURES = (
    *("relays_per_event", "overhead_popular", "network_cost_ms", "network_cost_over_ideal", "table_entries"),
    *("table_entries_max", "searches_per_event", "searches_per_event_max", "server_copies"),
    *("server_copies_max", "server_copies_jain", "coverage", "coverage_sd", "last_hop", "filter_bytes_max"),
    *("gradients_false", "gradients_recovered", "hit_ratio", "hit_ratio_by_topic", "overhead", "delay_hops"),
    *("lookup_hops", "lookup_success", "lookup_timeouts"),
    *("lookup_found_all", "lookup_found_closest", "lookup_depth", "lookup_took_ms"),
    *("messages_a_period", "suspicions", "detection_periods", "dissemination_periods", "probe_failures"),
    *("state.probes", "false_positives"),
    *("neighbours", "path_length", "clustering"),
    *("broadcast_reliability", "broadcast_reliability_after_fault", "broadcast_redundancy_after_fault"),
    *("broadcast_surplus_first", "broadcast_redundancy_later", "broadcast_redundancy_mended"),
    *("plumtree_grafts_later", "plumtree_prunes_later"),
    *("mesh_one_end_lasting", "mesh_degree_min_free", "mesh_degree_max_settled", "mesh_copies_over_degree"),
    *("delay_ms",),
    *("copies_per_delivery", "mesh_honest_target"),
    *(f"mesh_attackers_{after}_s" for after in (90, 150, 210)),
    *("popularity_exponent", "neighbours_above_15", "neighbours_above_200", "neighbours_max"),
)
LARGE = "peers=10000"
SIZES = (
    "vary.peers, system.parameters.overlay.degree="
    "[[1024, 6], [2048, 7], [4096, 8], [8192, 10], [16384, 12], [32768, 14]]"
)
SMALLER = ["peers is 1,024, 2,048, 4,096, the paper's 1,024 to 32,768"]
OF_TWITTER = [
    "workload.subscriptions.kind is edges, the paper's a sample of Twitter with 80 subscriptions a peer",
]

OF_COLD_BOOT = [
    "peers is 500, the paper's 5,000",
    "attackers.number is not set, the paper's 4,000",
]
SMALL_GRAPH = ["peers is 1,000, the paper's 10,000"]
OF_EDITORS = [
    "peers is 3,099, the paper's 10,000",
    "workload.subscriptions.articles is not set, the paper's 3,000",
]


def results(file: str, *options: str) -> list[VariantResult]:
    """Return the results as if everything had been measured to be 1."""
    values: dict[str, float | None] = dict.fromkeys(MEASURES, 1.0)
    estimates = {name: estimate([1.0]) for name in MEASURES}
    spec = load(PAPERS / file, options, check_files=False)
    return [
        VariantResult(v.name, v.values, v.spec.model_dump(mode="json"), estimates, {1: values})
        for v in variants(spec)
    ]


@pytest.mark.parametrize(
    ("name", "file", "options", "differs"),
    [
        ("M1", "magnet/correlation.yaml", [LARGE], []),
        ("M3", "magnet/spatial.yaml", [LARGE], []),
        ("M2", "magnet/popularity-and-size.yaml", ["peers=5000"], []),
        ("M4", "magnet/hierarchical-topics.yaml", [
            "peers=16384", "workload.subscriptions.height=14",
        ], []),
        ("M5", "magnet/editors-trace.yaml", [], OF_EDITORS),
        ("M6", "magnet/uncorrelated.yaml", [LARGE], []),
        ("M7", "magnet/samples.yaml", [LARGE], []),
        ("K1", "kyra/interest.yaml", [], []),
        ("K2", "kyra/distributions.yaml", [], []),
        *((name, "quasar/coverage.yaml", [SIZES], []) for name in ("Q1", "Q2", "Q3", "Q4", "Q5")),
        *((name, "quasar/coverage.yaml", [], SMALLER) for name in ("Q1", "Q2", "Q3", "Q4", "Q5")),
        ("C1", "chord/hops.yaml", [], []),
        ("C2", "chord/failures.yaml", [], []),
        ("C3", "chord/churn.yaml", [], ["peers is 2,000, the paper's 1,000"]),
        ("G1", "gossipsub/baseline.yaml", [], []),
        ("G2", "gossipsub/baseline.yaml", [], []),
        ("G3", "gossipsub/large-messages.yaml", [], []),
        ("G4", "gossipsub/loss.yaml", [], []),
        ("G5", "gossipsub/sybils.yaml", [], []),
        ("G6", "gossipsub/eclipse.yaml", [], []),
        ("G7", "gossipsub/censor.yaml", ["peers=3000", "attackers.share=null", "attackers.number=2000"], []),
        ("G8", "gossipsub/surprises.yaml", [], OF_COLD_BOOT),
        ("G9", "gossipsub/surprises.yaml", [], OF_COLD_BOOT),
        ("X1", "kademlia/lookups.yaml", [], []),
        ("X2", "kademlia/lookups.yaml", [], []),
        ("X3", "kademlia/failures.yaml", [], []),
        ("SW1", "swim/load.yaml", [], []),
        ("SW2", "swim/detection.yaml", [], []),
        ("SW3", "swim/loss.yaml", [], []),
        ("SW4", "swim/slow-members.yaml", [], []),
        ("H1", "hyparview/graph.yaml", [], []),
        ("H2", "hyparview/graph-large.yaml", [], []),
        ("H3", "hyparview/failures.yaml", [LARGE], []),
        ("H4", "hyparview/failures.yaml", [], SMALL_GRAPH),
        ("E1", "plumtree/tree.yaml", [], SMALL_GRAPH),
        ("E2", "plumtree/senders.yaml", [LARGE], []),
        ("E3", "plumtree/failures.yaml", [LARGE], []),
        ("V7", "vitis/twitter.yaml", [LARGE], OF_TWITTER),
        ("V8", "vitis/twitter.yaml", [LARGE], OF_TWITTER),
    ],
)  # fmt: skip
def test_experiments_have_every_number_of_their_claims(
    name: str, file: str, options: list[str], differs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRELLIS_DATA", "/data")
    (found,) = judge([name], results(file, *options))
    assert found.differs == differs
    assert [n.what for n in found.numbers if n.outcome == "not measured"] == []


@pytest.mark.parametrize(
    ("name", "file", "measures"),
    [
        ("H3", "hyparview/failures.yaml", ["broadcast_reliability_after_fault"] * 3),
        ("H4", "hyparview/failures.yaml", ["broadcast_reliability_after_fault"] * 2),
        ("M1", "magnet/correlation.yaml", ["", "", "", "overhead_popular"]),
        ("M4", "magnet/hierarchical-topics.yaml", ["popularity_exponent", "", "", "", ""]),
        ("Q1", "quasar/coverage.yaml", ["coverage", "", "", "", "coverage"]),
    ],
)
def test_a_number_of_one_measure_in_some_variants_stands_in_its_figure(
    name: str, file: str, measures: list[str]
) -> None:
    (found,) = judge([name], results(file))
    assert [number.measure for number in found.numbers] == measures
    bounds = {(n.low, n.high) != (None, None) for n in found.numbers if n.measure}
    assert bounds == {True}


def test_many_senders_are_judged_with_time_outs_above_the_depth_of_the_tree_alone() -> None:
    (found,) = judge(["E2"], results("plumtree/senders.yaml"))
    for number in found.numbers:
        assert list(number.measured) == ["plumtree-hyparview.missing_timeout=10s"]


def test_copies_of_large_messages_are_judged_over_links_of_the_models_rate_alone() -> None:
    (found,) = judge(["G3"], results("gossipsub/large-messages.yaml"))
    saved, over = found.numbers
    assert [pair.count("50Mbit-s") + pair.count("uplink=50Mbit") for pair in saved.measured] == [2], saved
    assert [(name.count("1.1"), name.count("50Mbit-s")) for name in over.measured] == [(1, 1)], over
