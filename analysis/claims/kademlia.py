"""The claims of the paper on Kademlia about lookups.

Maymounkov, Mazieres, IPTPS 2002. The paper has a sketch of a proof (section 3) and no simulation, so that its
claims have no numbers of their own but these.
"""

from __future__ import annotations

import math

from analysis.claims.bounds import at_least, at_most, below
from analysis.claims.claim import (
    Claim,
    Found,
    Number,
    Variants,
    each,
    is_static,
    of_ends,
    of_system,
    ratio,
)
from analysis.claims.paper_setting import Setting
from analysis.measures.variant_results import Estimate, VariantResult

_ALPHA = "system.parameters.alpha"
_PAPER: Setting = {"system.parameters.k": 20}


def _at_rest(variants: Variants) -> list[VariantResult]:
    return [
        v
        for v in of_system(variants, "kademlia")
        if is_static(v) and v.get("churn.crash") is None and v.get("system.parameters.ends") != "beta"
    ]


def _by_alpha(variants: Variants) -> list[VariantResult]:
    found = _at_rest(variants)
    return found if len({v.get(_ALPHA) for v in found}) > 1 else []


def _crashed(variants: Variants) -> list[VariantResult]:
    return [v for v in of_system(variants, "kademlia") if v.get("churn.crash") is not None]


def _beyond_log(variants: Variants) -> Found:
    """Return the mean depth of what lookups found, less the logarithm of N to base 2."""
    found: dict[str, Estimate | None] = {}
    for variant in variants:
        depth = variant.measures.get("lookup_depth")
        less = math.log2(int(variant.get("peers")))
        found[variant.name] = Estimate(depth.mean - less, depth.ci95, depth.n) if depth else None
    return found


KADEMLIA = (
    Claim(
        "X1",
        "A lookup finds the k closest peers in no more steps than the logarithm of N to base 2.",
        _at_rest,
        "static variants of Kademlia whose lookups wait for all of the k closest",
        _PAPER,
        (
            Number("lookups that found exactly these", at_least(0.999, "share"), each("lookup_found_all")),
            Number("mean depth less the logarithm", at_most(0, "steps"), _beyond_log),
        ),
    ),
    Claim(
        "X2",
        "Lookups with several requests at once end sooner.",
        _by_alpha,
        "static variants of Kademlia that differ in alpha",
        _PAPER,
        (
            Number(
                "time with the most requests at once to that with the fewest",
                below(1, "times"),
                of_ends(_ALPHA, "lookup_took_ms", ratio),
            ),
        ),
    ),
    Claim(
        "X3",
        "Right after a large share of the peers failed at once, lookups still find the closest live peer.",
        _crashed,
        "variants of Kademlia with a crash",
        _PAPER,
        (Number("lookups that did", at_least(0.99, "share"), each("lookup_found_closest")),),
    ),
)
