"""The claims of the paper on Plumtree: what its tree costs, with one sender, with many, and after failures.

Leitao, Pereira, Rodrigues, SRDS 2007, sections 3 and 4, from memory. Bounds of numbers that the paper gives
as curves alone are those of models of the published rules.
"""

from __future__ import annotations

from analysis.claims.bounds import about, at_least, at_most
from analysis.claims.claim import Claim, Number, Variants, each
from analysis.claims.paper_setting import Setting
from analysis.measures.variant_results import VariantResult

_PAPER: Setting = {"peers": 10_000}
_TIMEOUT = "system.parameters.missing_timeout"
_ABOVE_DEPTH = 5.0
"""The seconds within which a message has reached all peers of any tree here."""


def _over(variants: Variants) -> list[VariantResult]:
    return [v for v in variants if str(v.get("system.name")).startswith("plumtree-")]


def _one_sender(variants: Variants) -> list[VariantResult]:
    return [v for v in _over(variants) if v.get("workload.broadcast.senders") == 1 and not v.get("faults")]


def _patient(variants: Variants) -> list[VariantResult]:
    """Return the variants with many senders whose time-out is above the depth of the tree."""
    return [
        v
        for v in _over(variants)
        if v.get("workload.broadcast.senders") is None
        and not v.get("faults")
        and v.seconds(_TIMEOUT) >= _ABOVE_DEPTH
    ]


def _crashed(variants: Variants) -> list[VariantResult]:
    return [v for v in _over(variants) if v.get("faults")]


PLUMTREE = (
    Claim(
        "E1",
        "The first message makes the tree, over which one sender's next messages go without a copy too many.",
        _one_sender,
        "variants of Plumtree with one sender",
        _PAPER,
        (
            Number(
                "copies of the first message beyond flooding",
                about(0, "", 0),
                each("broadcast_surplus_first"),
            ),
            Number("redundancy from the second on", at_most(0, ""), each("broadcast_redundancy_later")),
            Number("GRAFT from the second on", at_most(0, "messages"), each("plumtree_grafts_later")),
            Number("PRUNE from the second on", at_most(0, "messages"), each("plumtree_prunes_later")),
            Number("reliability", at_least(1, "share"), each("broadcast_reliability")),
        ),
    ),
    Claim(
        "E2",
        "Many senders share the tree without a copy too many, if the time-out is above its depth.",
        _patient,
        "variants of Plumtree with many senders and a time-out of 5 s or more",
        _PAPER,
        (
            Number("redundancy from the second on", at_most(0.002, ""), each("broadcast_redundancy_later")),
            Number("reliability", at_least(1, "share"), each("broadcast_reliability")),
        ),
    ),
    Claim(
        "E3",
        "After half of the peers failed, all others get each message, and the tree is mended by the first.",
        _crashed,
        "variants of Plumtree with a crash",
        _PAPER,
        (
            Number(
                "reliability of the first", at_least(1, "share"), each("broadcast_reliability_after_fault")
            ),
            Number(
                "redundancy of the first", about(1.42, "", 0.142), each("broadcast_redundancy_after_fault")
            ),
            Number("redundancy of the next", at_most(0.06, ""), each("broadcast_redundancy_mended")),
        ),
    ),
)
