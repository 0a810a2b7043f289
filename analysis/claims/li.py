"""The claims of Li's thesis (chapter 4).

The thesis serializes messages by Java and says that a practical system's would be smaller (4.3.1): its bytes
are upper limits here, and their distribution over the peers is compared by ratios to the mean.
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.claims.bounds import about, above, at_least, at_most, below, between
from analysis.claims.claim import (
    Claim,
    Find,
    Found,
    Number,
    OfSome,
    Pair,
    Variants,
    each,
    is_static,
    members,
    of_ends,
    of_pair,
    of_system,
    ratio,
    saving,
    to_mean,
)
from analysis.claims.pairs import pairs_by_value
from analysis.claims.paper_setting import Setting, Sweep
from analysis.measures.variant_results import Estimate, VariantResult

_PEERS = "peers"
_PROBING = "system.parameters.probing"
_CUT_OFF = "system.parameters.cut_off"
_PAPER_PEERS = 1000
_KB = 1000
_PUBLISH, _MATCH = "publish_bytes_per_event_and_node", "matching_bytes_per_event_and_node"
_INSERT = "insert_bytes_per_subscription_and_node"
_NEEDS = "variant of Li's system as in the thesis"


def _attribute(
    name: str, low: float, high: float, width: float, skew: float, size_skew: float, bound: float
) -> dict[str, object]:
    """Return a row of tables 4.2 and 4.3."""
    return {
        "name": name,
        "low": low,
        "high": high,
        "presence": 0.5,
        "sub_range": width,
        "skew": skew,
        "size_skew": size_skew,
        "size_bound": bound,
    }


_ANY_SIZE: Setting = {
    "network.latency.kind": "king",
    "network.latency.mean_rtt": "180 ms",
    "network.jitter": "0 s",
    "network.loss": 0.0,
    "workload.subscriptions.per_peer": 5,
    "workload.subscriptions.attributes": [
        _attribute("Attr1", 0, 10_000, 100, 0.6, 0.8, 0.5),
        _attribute("Attr2", -10_000, 10_000, 20, 0.5, 0.6, 0.4),
        _attribute("Attr3", 0, 3000, 10, 0.4, 0.5, 0.3),
        _attribute("Attr4", 0, 200, 1, 0.3, 0.4, 0.2),
    ],
    "workload.publications.publisher": "any",
    "system.parameters.capacity": [10, 30],
    "system.parameters.max_level": 10,
}
_SUBSCRIBING: Setting = {_PEERS: _PAPER_PEERS, **_ANY_SIZE, "workload.subscriptions.within": "10000 s"}
_PUBLISHING: Setting = {
    **_SUBSCRIBING,
    "workload.publications.events": 10_000,
    "phases.measure": "10000 s",
}


def _static(variants: Variants) -> list[VariantResult]:
    return [v for v in of_system(variants, "li") if is_static(v)]


def _usual(variants: Variants) -> list[VariantResult]:
    """Return the variants with the usual setting of the thesis: multicast, with the cut-off line."""
    return [v for v in _static(variants) if v.get(_PROBING) != "unicast" and v.get(_CUT_OFF)]


def _of_paper_size(variants: Variants) -> list[VariantResult]:
    """Return the usual variants whose number of peers is nearest to the thesis's."""
    usual = _usual(variants)
    nearest = min((abs(v.get(_PEERS) - _PAPER_PEERS) for v in usual), default=0)
    return [v for v in usual if abs(v.get(_PEERS) - _PAPER_PEERS) == nearest]


def _multicast(variants: Variants) -> list[Pair]:
    static = _static(variants)
    return pairs_by_value(static, _PROBING, lambda way: way == "multicast", lambda way: way == "unicast")


def _cut_off(variants: Variants) -> list[Pair]:
    return pairs_by_value(_static(variants), _CUT_OFF, bool, lambda c: c == 0)


def _saved(pairs: Callable[[Variants], list[Pair]], measure: str) -> Callable[[Variants], Found]:
    return of_pair(pairs, measure, saving)


def _top_saves_more(variants: Variants) -> Found:
    """Return the kilobytes by which the saving of the top 20 peers exceeds that of the mean peer."""

    def fall(one: float, other: float) -> float:
        return (other - one) / _KB

    mean, top = (of_pair(_cut_off, m, fall)(variants) for m in (_MATCH, "matching_bytes_top_20"))
    return {name: _less(top[name], mean[name]) for name in mean}


def _less(one: Estimate | None, other: Estimate | None) -> Estimate | None:
    return Estimate(one.mean - other.mean, None, min(one.n, other.n)) if one and other else None


def _sizes(variants: Variants) -> list[VariantResult]:
    usual = _usual(variants)
    return usual if len({v.get(_PEERS) for v in usual}) > 1 else []


def _smallest(find: Find) -> Find:
    return OfSome(lambda variants: [min(variants, key=lambda v: int(v.get(_PEERS)))], find)


def _largest(find: Find) -> Find:
    return OfSome(lambda variants: [max(variants, key=lambda v: int(v.get(_PEERS)))], find)


LI = (
    Claim(
        "L1",
        "Most subscriptions are installed within a second (each piece, from asking to its acknowledgement).",
        _of_paper_size,
        _NEEDS,
        _SUBSCRIBING,
        (
            Number("mean", about(331, "ms", better="lower"), each("piece_delay_ms")),
            Number("within 600 ms", about(0.7, "share", better="higher"), each("piece_within_600_ms")),
            Number("within 1 s", about(0.9, "share", better="higher"), each("piece_within_1_s")),
        ),
    ),
    Claim(
        "L2",
        "Installing costs most peers about as little as the mean, and few of them several times as much "
        "(messages ProbeSub, InsertSub, LeafUpdate and TransferSub).",
        _of_paper_size,
        _NEEDS,
        _SUBSCRIBING,
        (
            Number("mean of a subscription and peer", at_most(14.32, "bytes"), each(_INSERT)),
            Number(
                "78 % of the peers, to the mean",
                about(20 / 14.32, "times", better="lower"),
                to_mean("insert_bytes_p78", _INSERT),
            ),
            Number(
                "98 % of the peers, to the mean",
                at_most(60 / 14.32, "times"),
                to_mean("insert_bytes_p98", _INSERT),
            ),
        ),
    ),
    Claim(
        "L3",
        "Events are delivered within a second.",
        _of_paper_size,
        _NEEDS,
        _PUBLISHING,
        (
            Number("mean", about(333, "ms", better="lower"), each("delay_ms")),
            Number("within 400 ms", about(0.7, "share", better="higher"), each("delay_within_400_ms")),
            Number('within 1 s ("nearly all")', at_least(0.99, "share"), each("delay_within_1_s")),
        ),
    ),
    Claim(
        "L4",
        "Publishing costs most peers about as little as the mean.",
        _of_paper_size,
        _NEEDS,
        _PUBLISHING,
        (
            Number("mean of an event and peer", at_most(1.32, "kB"), each(_PUBLISH, _KB)),
            Number(
                "70 % of the peers, to the mean",
                about(1.6 / 1.32, "times", better="lower"),
                to_mean("publish_bytes_p70", _PUBLISH),
            ),
            Number(
                "90 % of the peers, to the mean",
                about(3 / 1.32, "times", better="lower"),
                to_mean("publish_bytes_p90", _PUBLISH),
            ),
            Number(
                "the peer with most, to the mean",
                at_most(11 / 1.32, "times"),
                to_mean("publish_bytes_max", _PUBLISH),
            ),
        ),
    ),
    Claim(
        "L5",
        "Multicast finds the subscribers with less traffic than unicast probing (without delivery).",
        lambda variants: members(_multicast(variants)),
        "pair of variants that differ in multicast or unicast alone",
        _PUBLISHING,
        (
            Number("saved in the mean", about(0.3, "share", better="higher"), _saved(_multicast, _MATCH)),
            Number(
                "saved at the maximum",
                about(1 - 9.4 / 12.2, "share", better="higher"),
                _saved(_multicast, "matching_bytes_max"),
            ),
            Number("saved by 70 % of the peers", above(0, "share"), _saved(_multicast, "matching_bytes_p70")),
        ),
    ),
    Claim(
        "L6",
        "The cut-off line takes load from all peers, most from those that have most (without delivery).",
        lambda variants: members(_cut_off(variants)),
        "pair of variants that differ in the cut-off line alone",
        _PUBLISHING,
        (
            Number("saved in the mean", about(0.5, "share", better="higher"), _saved(_cut_off, _MATCH)),
            Number("saved by the top 20", above(0, "share"), _saved(_cut_off, "matching_bytes_top_20")),
            Number("saved by each of the top 20, more than by others", above(0, "kB"), _top_saves_more),
        ),
    ),
    Claim(
        "L7",
        "With more peers the delay grows slowly, and the mean traffic of a peer falls.",
        _sizes,
        "variants of Li's system with several numbers of peers",
        {
            **_ANY_SIZE,
            _PEERS: Sweep(1000, 5000),
            "workload.publications.events": 10_000,
            "phases.measure": "10000 s",
        },
        (
            Number(
                "mean delay of the smallest network",
                about(330, "ms", better="lower"),
                _smallest(each("delay_ms")),
            ),
            Number("mean delay of the largest", about(430, "ms", better="lower"), _largest(each("delay_ms"))),
            Number(
                "longest delay at every size",
                between(1.6, 1.8, "s", better="lower"),
                each("delay_ms_max", 1000),
            ),
            Number(
                "mean bandwidth, largest to smallest", below(1, "times"), of_ends(_PEERS, _PUBLISH, ratio)
            ),
            Number(
                "maximum bandwidth, largest to smallest",
                above(1, "times"),
                of_ends(_PEERS, "publish_bytes_max", ratio),
            ),
        ),
    ),
)
