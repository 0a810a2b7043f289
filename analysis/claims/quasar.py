"""The claims of the Quasar paper (section 4).

Its simulator counts hops, so of the network only jitter and loss have to be as the paper's: there are none.
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.claims.bounds import about, above, at_least, at_most, below, between
from analysis.claims.claim import (
    Claim,
    Find,
    Number,
    OfSome,
    Variants,
    each,
    is_static,
    of_ends,
    ratio,
)
from analysis.claims.paper_setting import AnyOf, Setting, Sweep
from analysis.measures.variant_results import VariantResult

_PEERS = "peers"
_KIND = "workload.subscriptions.kind"
_SIZE = "workload.subscriptions.size"
_HUNDRED, _SHARE = 100, 0.02
_KB = 1000
_NEEDS = "static variants of Quasar over groups"

_SYSTEM: Setting = {
    _PEERS: Sweep(1024, 32_768),
    "network.jitter": "0 s",
    "network.loss": 0.0,
    "system.name": "quasar-random-graph",
    "system.parameters.depth": 3,
    "system.parameters.filter_bytes": 512,
    "workload.subscriptions.smallest": 2,
    "workload.subscriptions.largest": 1055,
}
_ALL_SIZES: Setting = {**_SYSTEM, _SIZE: AnyOf((None, _HUNDRED, _SHARE))}


def _static(variants: Variants) -> list[VariantResult]:
    found = [v for v in variants if str(v.get("system.name")).startswith("quasar-") and v.measures]
    return [v for v in found if is_static(v) and v.get(_KIND) == "groups"]


def _of_size(size: float | None) -> Callable[[Variants], Variants]:
    """Return a function that selects a line of figure 3: groups of this size, or of MySpace's sizes."""
    return lambda variants: [v for v in _static(variants) if v.get(_SIZE) == size]


def _where(size: float | None, find: Find) -> Find:
    return OfSome(_of_size(size), find)


def _with_highest_coverage(variants: Variants) -> list[VariantResult]:
    found = [(coverage.mean, v) for v in variants if (coverage := v.measures.get("coverage"))]
    return [max(found, key=lambda one: one[0])[1]] if found else []


def _difference(one: float, other: float) -> float:
    return one - other


_LINES = {None: "MySpace's groups", _HUNDRED: "groups of 100", _SHARE: "groups of 2 %"}

QUASAR = (
    Claim(
        "Q1",
        "Nearly all members of a group get its messages, in networks of all sizes.",
        _static,
        _NEEDS,
        _ALL_SIZES,
        (
            Number("coverage of MySpace's groups", above(0.97, "share"), _where(None, each("coverage"))),
            *(
                Number(
                    f"coverage of {words} in the largest network, more than in the smallest",
                    about(0, "share", better="higher"),
                    _where(size, of_ends(_PEERS, "coverage", _difference)),
                )
                for size, words in _LINES.items()
            ),
            Number(
                "the highest coverage",
                about(0.97, "share", better="higher"),
                OfSome(_with_highest_coverage, each("coverage")),
            ),
        ),
    ),
    Claim(
        "Q2",
        "The way to the last member of a group of 100 grows modestly with the network (figure 4).",
        _of_size(_HUNDRED),
        "static variants of Quasar with groups of 100",
        {**_SYSTEM, _SIZE: _HUNDRED},
        (
            Number("hops to the last member", between(15, 24, "hops", better="lower"), each("last_hop")),
            Number(
                "hops in the largest network, to those in the smallest",
                above(1, "times"),
                of_ends(_PEERS, "last_hop", ratio),
            ),
            Number(
                "the same, as an upper limit",
                at_most(24 / 15, "times"),
                of_ends(_PEERS, "last_hop", ratio),
            ),
        ),
    ),
    Claim(
        "Q3",
        "A peer keeps little.",
        _static,
        _NEEDS,
        _ALL_SIZES,
        (Number("filters at the peer with the most", at_most(22, "kB"), each("filter_bytes_max", _KB)),),
    ),
    Claim(
        "Q4",
        "False positives are rare, and recovered from at the next hop.",
        _of_size(None),
        "static variants of Quasar with MySpace's groups",
        {**_SYSTEM, _SIZE: None},
        (
            Number(
                "gradients that are false",
                about(0.005, "share", 0.0005, better="lower"),
                each("gradients_false"),
            ),
            Number(
                "of these, recovered by another gradient", at_least(1.0, "share"), each("gradients_recovered")
            ),
        ),
    ),
    Claim(
        "Q5",
        "Coverage varies less with larger groups (error bars of figure 3).",
        _of_size(_SHARE),
        "static variants of Quasar with groups of 2 %",
        {**_SYSTEM, _SIZE: _SHARE},
        (
            Number(
                "standard deviation of coverage in the largest network, to that in the smallest",
                below(1, "times"),
                of_ends(_PEERS, "coverage_sd", ratio),
            ),
        ),
    ),
)
