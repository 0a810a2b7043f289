"""The claims of the papers on Chord about lookups.

Stoica, Morris, Liben-Nowell, Karger, Kaashoek, Dabek, Balakrishnan, ToN 11(1), 2003, the section with
simulations. A path ends at the predecessor of the key there, so it has one hop less than a lookup here.
"""

from __future__ import annotations

import math

from analysis.claims.bounds import about, at_most
from analysis.claims.claim import Claim, Found, Number, Variants, each, is_static, of_system
from analysis.claims.paper_setting import Setting
from analysis.measures.variant_results import Estimate, VariantResult

_PEERS = "peers"
_SEARCH = "system.parameters.search"
_PAPER: Setting = {_PEERS: 1000, "system.parameters.successors": 20}


def _by_fingers(variants: Variants) -> list[VariantResult]:
    return [v for v in of_system(variants, "chord") if is_static(v) and v.get(_SEARCH) == "fingers"]


def _crashed(variants: Variants) -> list[VariantResult]:
    return [v for v in of_system(variants, "chord") if v.get("churn.crash") is not None]


def _churning(variants: Variants) -> list[VariantResult]:
    return [
        v
        for v in of_system(variants, "chord")
        if v.get("churn.model.kind") != "static" and v.get("system.parameters.fix_fingers") == "random"
    ]


def _beyond_half_of_log(variants: Variants) -> Found:
    """Return the mean path to the predecessor, less half of the logarithm of N to base 2."""
    found: dict[str, Estimate | None] = {}
    for variant in variants:
        hops = variant.measures.get("lookup_hops")
        less = 1 + math.log2(int(variant.get(_PEERS))) / 2
        found[variant.name] = Estimate(hops.mean - less, hops.ci95, hops.n) if hops else None
    return found


def _wrong(variants: Variants) -> Found:
    """Return the share of lookups that did not end at the right peer."""
    found: dict[str, Estimate | None] = {}
    for variant in variants:
        right = variant.measures.get("lookup_success")
        found[variant.name] = Estimate(1 - right.mean, right.ci95, right.n) if right else None
    return found


CHORD = (
    Claim(
        "C1",
        "A path has about half as many hops as the logarithm of N to base 2.",
        _by_fingers,
        "static variants of Chord that search by fingers",
        _PAPER,
        (Number("mean hops less half of the logarithm", about(0, "hops", 0.25), _beyond_half_of_log),),
    ),
    Claim(
        "C2",
        "Right after a large share of the peers failed at once, lookups still end at the right peer.",
        _crashed,
        "variants of Chord with a crash",
        _PAPER,
        (Number("lookups that did not", at_most(2e-4, "share"), _wrong),),
    ),
    Claim(
        "C3",
        "With .2 joins and failures a second, a lookup finds few peers silent.",
        _churning,
        "variants of Chord under churn that fix one finger at a time",
        _PAPER,
        (Number("peers found silent, a lookup", about(0.23, "", 0.06), each("lookup_timeouts")),),
    ),
)
