"""The claims of the Vitis paper about followers on Twitter (section IV.E), where OPT joins the comparison.

Its sample of Twitter was not published; no experiment has it.
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.claims.bounds import about, above, at_least, at_most, below
from analysis.claims.claim import (
    Claim,
    Find,
    Number,
    OfSome,
    Pair,
    Variants,
    each,
    is_static,
    of_pair,
    of_system,
    ratio,
    saving,
)
from analysis.claims.pairs import pairs_by_system
from analysis.claims.paper_setting import Setting, Sweep
from analysis.measures.variant_results import VariantResult

_TABLE = "system.parameters.routing_table"
_DEGREE = "system.parameters.degree"
_SMALL, _LARGE = 15, 35

_SAMPLE: Setting = {
    "peers": 10_000,
    "network.jitter": "0 s",
    "network.loss": 0.0,
    "workload.subscriptions.kind": "a sample of Twitter with 80 subscriptions a peer",
    "workload.publications.rates.kind": "uniform",
}


def _opt(variants: Variants) -> list[VariantResult]:
    """Return static OPT, with full knowledge if there is any such variant."""
    found = [v for v in of_system(variants, "opt") if is_static(v)]
    return [v for v in found if v.get("system.parameters.knowledge") == "full"] or found


def _bounded(variants: Variants) -> list[VariantResult]:
    return [v for v in _opt(variants) if v.get(_DEGREE)]


def _unbounded(variants: Variants) -> list[VariantResult]:
    return [v for v in _opt(variants) if not v.get(_DEGREE)]


def _three_systems(variants: Variants) -> list[VariantResult]:
    static = [v for v in variants if is_static(v)]
    found = [of_system(static, "vitis"), of_system(static, "rvr"), _bounded(static)]
    return [v for of in found for v in of] if all(found) else []


def _beside_rvr(variants: Variants) -> list[Pair]:
    """Return the pairs of Vitis and RVR with the same size of routing table."""
    return pairs_by_system(variants, "vitis", "rvr", (_TABLE,))


def _at(table: int) -> Callable[[Variants], list[Pair]]:
    return lambda variants: [p for p in _beside_rvr(variants) if p.ours.get(_TABLE) == table]


def _after_rvr(variants: Variants) -> list[Pair]:
    return [Pair(pair.name, pair.theirs, pair.ours) for pair in _beside_rvr(variants)]


def _after_opt(variants: Variants) -> list[Pair]:
    """Return the pairs of OPT and the Vitis whose routing table is as large as OPT's bound."""

    def world(variant: VariantResult, degree: str) -> str:
        return repr([variant.get(key) for key in (degree, "peers", "network", "workload")])

    vitis = {world(v, _TABLE): v for v in of_system(variants, "vitis")}
    return [
        Pair(vitis[world(v, _DEGREE)].name, v, vitis[world(v, _DEGREE)])
        for v in _bounded(variants)
        if world(v, _DEGREE) in vitis
    ]


def _of(system: str, find: Find) -> Find:
    """Return a function that looks at one system's variants alone."""
    return OfSome(lambda variants: of_system(variants, system), find)


def _with_most(system: str, key: str, find: Find) -> Find:
    """Return a function that looks at one system's variants with the paper's largest degree alone."""
    return OfSome(lambda variants: [v for v in of_system(variants, system) if v.get(key) == _LARGE], find)


TWITTER = (
    Claim(
        "V7",
        "On Twitter, Vitis and RVR reach all subscribers and OPT of bounded degree does not; Vitis has less "
        "overhead than RVR, OPT has none, and Vitis is the fastest.",
        _three_systems,
        "static variants of Vitis, RVR and OPT of bounded degree",
        {**_SAMPLE, _TABLE: Sweep(_SMALL, _LARGE)},
        (
            Number("hit ratio of Vitis", at_least(1.0, "share"), _of("vitis", each("hit_ratio"))),
            Number("hit ratio of RVR", at_least(1.0, "share"), _of("rvr", each("hit_ratio"))),
            Number("hit ratio of OPT", below(1.0, "share"), _of("opt", each("hit_ratio"))),
            Number(
                "hit ratio of OPT at degree 35",
                at_most(0.8, "share"),
                _with_most("opt", _DEGREE, each("hit_ratio")),
            ),
            Number(
                "the same as a mean over topics",
                at_most(0.8, "share"),
                _with_most("opt", _DEGREE, each("hit_ratio_by_topic")),
            ),
            Number(
                "overhead saved at degree 15",
                about(0.3, "share", better="higher"),
                of_pair(_at(_SMALL), "overhead", saving),
            ),
            Number(
                "overhead saved at degree 35",
                about(0.4, "share", better="higher"),
                of_pair(_at(_LARGE), "overhead", saving),
            ),
            Number(
                "overhead of Vitis at degree 35",
                about(0.43, "share", better="lower"),
                _with_most("vitis", _TABLE, each("overhead")),
            ),
            Number("overhead of OPT", at_most(0, "share"), _of("opt", each("overhead"))),
            Number(
                "delay in hops of RVR, to that of Vitis",
                above(1.5, "times"),
                of_pair(_after_rvr, "delay_hops", ratio),
            ),
            Number(
                "delay in hops of OPT, to that of Vitis",
                above(1.7, "times"),
                of_pair(_after_opt, "delay_hops", ratio),
            ),
        ),
    ),
    Claim(
        "V8",
        "To reach all subscribers, OPT needs many links.",
        _unbounded,
        "static variant of OPT without a bound on its degree",
        {**_SAMPLE, _DEGREE: 0},
        (
            Number("hit ratio", at_least(1.0, "share"), each("hit_ratio")),
            Number("peers with more than 15 links", above(2 / 3, "share"), each("neighbours_above_15")),
            Number(
                "peers with more than 200 links", about(0.003, "share", 0.0003), each("neighbours_above_200")
            ),
            Number("links of the peer with the most", about(708, "links"), each("neighbours_max")),
        ),
    ),
)
