"""The claims of the paper on HyParView about the graph of active views and about failures.

Leitao, Pereira, Rodrigues, DSN 2007, the evaluation, from memory. The paper's graphs have 10,000 peers.
Bounds at 1,000 peers are those of models of the published rules.
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.claims.bounds import about, at_least, at_most, between
from analysis.claims.claim import Claim, Find, Number, OfSome, Variants, each, of_system
from analysis.measures.variant_results import VariantResult

_SYSTEM = "flood-hyparview"
_KEEPALIVE = "system.parameters.membership.keepalive"
_AFTER = "broadcast_reliability_after_fault"


def _of_size(peers: int) -> Callable[[Variants], list[VariantResult]]:
    def among(variants: Variants) -> list[VariantResult]:
        return [v for v in of_system(variants, _SYSTEM) if v.get("peers") == peers and not v.get("faults")]

    return among


def _crashed(variants: Variants, *, noticed: bool) -> list[VariantResult]:
    return [
        v for v in of_system(variants, _SYSTEM) if v.get("faults") and (v.seconds(_KEEPALIVE) > 0) is noticed
    ]


def _noticed(variants: Variants) -> list[VariantResult]:
    return _crashed(variants, noticed=True)


def _unnoticed(variants: Variants) -> list[VariantResult]:
    return _crashed(variants, noticed=False)


def _at_share(low: float, high: float) -> Find:
    """Return a function that finds the reliability where `low` to `high` of the peers crashed."""

    def share(variant: VariantResult) -> float:
        crashed: list[float] = [
            fault["crash"]["share"] for fault in variant.get("faults") if fault.get("crash")
        ]
        return max(crashed)

    return OfSome(lambda variants: [v for v in variants if low <= share(v) <= high], each(_AFTER))


def _graph(low: float, high: float, clustering: float) -> tuple[Number, ...]:
    return (
        Number("degree", at_least(4.95, "peers"), each("neighbours")),
        Number("shortest path", between(low, high, "hops"), each("path_length")),
        Number("clustering", at_most(clustering, ""), each("clustering")),
    )


HYPARVIEW = (
    Claim(
        "H1",
        "Active views are full, and their graph is as a random one.",
        _of_size(1000),
        "variants of flooding over HyParView with 1,000 peers",
        {},
        _graph(4.65, 4.78, 0.006),
    ),
    Claim(
        "H2",
        "At the paper's size, shortest paths have 6.39 hops, and hardly any neighbours know each other.",
        _of_size(10_000),
        "variants of flooding over HyParView with 10,000 peers",
        {},
        _graph(6.34, 6.44, 0.002),
    ),
    Claim(
        "H3",
        "Flooding reaches nearly all survivors of up to 90 % failures, and most of those of 95 %, if all "
        "neighbours notice.",
        _noticed,
        "variants of flooding over HyParView with a crash and keep-alives",
        {"peers": 10_000},
        (
            Number("up to 80 %", at_least(0.999, "share"), _at_share(0, 0.8)),
            Number("at 90 %", at_least(0.99, "share"), _at_share(0.9, 0.9)),
            Number("at 95 %", at_least(0.85, "share"), _at_share(0.95, 0.95)),
        ),
    ),
    Claim(
        "H4",
        "A message right after the failures finds what links are left.",
        _unnoticed,
        "variants of flooding over HyParView with a crash and without keep-alives",
        {"peers": 10_000},
        (
            Number("at 50 %", about(0.956, "share", 0.05), _at_share(0.5, 0.5)),
            Number("at 80 %", at_most(0.1, "share"), _at_share(0.8, 0.8)),
        ),
    ),
)
