"""What the papers on Pastry claim of lookups, and whether a run bears it out.

Pastry: Rowstron, Druschel, Middleware 2001 (section 3, experiments). MSPastry: Castro, Costa, Rowstron,
DSN 2004 (the evaluation under churn). What "about" is worth was set beforehand, for the King-like network.
"""

from __future__ import annotations

import math

from analysis.claims.evidence import Claim, Evidence, Finding, Variants, is_static, lacks, of_system
from analysis.measures.variants import VariantResult

_PEERS = "peers"
_DIGIT_BITS = "system.parameters.digit_bits"
_MORE_HOPS = 0.15
"""Hops that the mean may lie above the logarithm."""
_PENALTY, _MAINTAINED_PENALTY = 1.5, 1.4
"""After the joins, and when the routing tables were maintained since."""
_SUCCESS = 0.999


def _by_size(variants: Variants) -> list[VariantResult]:
    return sorted(
        (v for v in of_system(variants, "pastry") if is_static(v)), key=lambda v: int(v.get(_PEERS))
    )


def _digits(variant: VariantResult) -> float:
    """log base 2^b of N."""
    return math.log2(int(variant.get(_PEERS))) / int(variant.get(_DIGIT_BITS))


def _hops(variants: Variants) -> Finding:
    curve = _by_size(variants)
    if not curve:
        return lacks("static variants of Pastry")
    evidence = Evidence()
    for variant in curve:
        digits = _digits(variant)
        hops = evidence.value(f"lookup_hops, {variant.name}", variant.measures.get("lookup_hops")) or 0.0
        evidence.check(
            hops <= digits + _MORE_HOPS,
            f"{variant.name} takes {hops:.2f} hops, the logarithm is {digits:.2f}",
        )
        most = (
            evidence.value(f"lookup_hops_p99, {variant.name}", variant.measures.get("lookup_hops_p99")) or 0
        )
        evidence.check(most <= math.ceil(digits), f"99 % of {variant.name} take up to {most:g} hops")
    return evidence.finding()


def _penalty(variants: Variants) -> Finding:
    curve = _by_size(variants)
    if not curve:
        return lacks("static variants of Pastry")
    evidence = Evidence()
    notes = []
    for variant in curve:
        for measure in ("delay_penalty", "delay_penalty_mean"):
            evidence.value(f"{measure}, {variant.name}", variant.measures.get(measure))
        found = variant.measures.get("delay_penalty")
        penalty = found.mean if found else 0.0
        evidence.check(penalty <= _PENALTY, f"{penalty:.2f} at {variant.name}")
        if _MAINTAINED_PENALTY < penalty <= _PENALTY:
            notes.append(f"{penalty:.2f} at {variant.name} is within {_PENALTY}, not {_MAINTAINED_PENALTY}")
    return evidence.finding("; ".join(notes))


def _churn(variants: Variants) -> Finding:
    churning = [v for v in of_system(variants, "pastry") if not is_static(v)]
    if not churning:
        return lacks("variant of Pastry under churn")
    evidence = Evidence()
    for variant in churning:
        success = evidence.value(f"lookup_success, {variant.name}", variant.measures.get("lookup_success"))
        evidence.value(f"lookup_delivered, {variant.name}", variant.measures.get("lookup_delivered"))
        evidence.check((success or 0) >= _SUCCESS, f"{variant.name} delivers {success or 0:.3%} right")
    return evidence.finding()


PASTRY = (
    Claim(
        "P1",
        "A lookup takes about as many hops as N has digits in base 2^b.",
        "Pastry: mean below the logarithm of N to base 16, from 1,000 to 100,000 peers; here at most "
        f"{_MORE_HOPS} above it, and 99 % within the next whole number",
        _hops,
    ),
    Claim(
        "P2",
        "Routes are little longer than the direct way to where they end.",
        "Pastry: 30 % to 40 % longer; as a ratio of means here at most "
        f"{_PENALTY} after the joins, {_MAINTAINED_PENALTY} after maintenance of the routing tables",
        _penalty,
    ),
    Claim(
        "P3",
        "Under churn lookups still end at the right peer.",
        "MSPastry: about two in 100,000 lost, none delivered at a wrong peer; here at least "
        f"{_SUCCESS:.1%} right",
        _churn,
    ),
)
