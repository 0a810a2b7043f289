"""The claims of the papers on Pastry about lookups.

Pastry: Rowstron, Druschel, Middleware 2001 (section 3, experiments). MSPastry: Castro, Costa, Rowstron, DSN
2004 (the evaluation under churn).
"""

from __future__ import annotations

import math

from analysis.claims.bounds import about, at_most, between
from analysis.claims.claim import Claim, Found, Number, Variants, each, is_static, of_system
from analysis.claims.paper_setting import Setting, Sweep
from analysis.measures.variant_results import Estimate, VariantResult

_PEERS = "peers"
_DIGIT_BITS = "system.parameters.digit_bits"
_NEEDS = "static variants of Pastry"
_PLANE: Setting = {"network.latency.kind": "distance in a plane", _DIGIT_BITS: 4}


def _static(variants: Variants) -> list[VariantResult]:
    return [v for v in of_system(variants, "pastry") if is_static(v)]


def _churning(variants: Variants) -> list[VariantResult]:
    return [v for v in of_system(variants, "pastry") if not is_static(v)]


def _digits(variant: VariantResult) -> float:
    """Return log base 2^b of N."""
    return math.log2(int(variant.get(_PEERS))) / int(variant.get(_DIGIT_BITS))


def _above(found: Estimate | None, less: float) -> Estimate | None:
    return Estimate(found.mean - less, found.ci95, found.n) if found else None


def _hops(variants: Variants) -> Found:
    return {v.name: _above(v.measures.get("lookup_hops"), _digits(v)) for v in variants}


def _most_hops(variants: Variants) -> Found:
    return {v.name: _above(v.measures.get("lookup_hops_p99"), math.ceil(_digits(v))) for v in variants}


def _lost(variants: Variants) -> Found:
    return {v.name: _rest(v.measures.get("lookup_delivered"), 1.0) for v in variants}


def _wrong(variants: Variants) -> Found:
    """Return the share of lookups that were delivered, but not at the right peer."""
    found: dict[str, Estimate | None] = {}
    for variant in variants:
        delivered = variant.measures.get("lookup_delivered")
        right = variant.measures.get("lookup_success")
        found[variant.name] = _rest(right, delivered.mean) if delivered else None
    return found


def _rest(found: Estimate | None, of: float) -> Estimate | None:
    return Estimate(of - found.mean, found.ci95, found.n) if found else None


PASTRY = (
    Claim(
        "P1",
        "A lookup takes about as many hops as N has digits in base 2^b.",
        _static,
        _NEEDS,
        {_PEERS: Sweep(1000, 100_000), **_PLANE},
        (
            Number("mean hops less the logarithm of N", about(0, "hops", 0.15, better="lower"), _hops),
            Number("hops of 99 % less the next whole number", at_most(0, "hops"), _most_hops),
        ),
    ),
    Claim(
        "P2",
        "Routes are little longer than the direct way to where they end.",
        _static,
        _NEEDS,
        {_PEERS: Sweep(1000, 100_000), **_PLANE},
        (
            Number(
                "mean delay to the direct one",
                between(1.3, 1.4, "times", better="lower"),
                each("delay_penalty"),
            ),
        ),
    ),
    Claim(
        "P3",
        "Under churn lookups still end at the right peer.",
        _churning,
        "variant of Pastry under churn",
        {"network.latency.kind": "a transit-stub topology", "churn.model.kind": "trace"},
        (
            Number("lookups lost", about(2e-5, "share", 1e-5, better="lower"), _lost),
            Number("lookups delivered at a wrong peer", at_most(0, "share"), _wrong),
        ),
    ),
)
