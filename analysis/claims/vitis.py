"""The claims of the Vitis paper (sections IV and V).

Its simulator counts hops, so of the network only jitter and loss have to be as the paper's: there are none.
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
    compare,
    each,
    is_static,
    members,
    of_ends,
    of_pair,
    of_system,
    ratio,
    saving,
)
from analysis.claims.pairs import pairs_by_system
from analysis.claims.paper_setting import AnyOf, Setting, Sweep
from analysis.measures.variant_results import Estimate, VariantResult, estimate

_PATTERN = "workload.subscriptions.kind"
_TABLE = "system.parameters.routing_table"
_FRIENDS = "system.parameters.friends"
_RATES = "workload.publications.rates.kind"
_ALPHA = "workload.publications.rates.alpha"
_PAPER_TABLE, _FULL_TABLE = 15, 30

_NETWORK: Setting = {"peers": 10_000, "network.jitter": "0 s", "network.loss": 0.0}
_TOPICS: Setting = {
    "workload.subscriptions.topics": 5000,
    "workload.subscriptions.per_peer": 50,
    "workload.subscriptions.buckets": 100,
}
_STATIC: Setting = {**_NETWORK, **_TOPICS, _RATES: "uniform", _TABLE: _PAPER_TABLE}


def _pairs(variants: Variants) -> list[Pair]:
    """Return the pairs of Vitis and RVR with the same size of routing table."""
    return pairs_by_system(variants, "vitis", "rvr", (_TABLE,))


def _paper_pairs(variants: Variants) -> list[Pair]:
    """Return for each subscription pattern the static pair that is nearest to the paper's default setting.

    That is a routing table of 15 and as many friends as there are (12), with the least skewed rates.
    """
    found: dict[str, Pair] = {}
    for pair in sorted((p for p in _pairs(variants) if is_static(p.ours)), key=_distance):
        found.setdefault(_pattern(pair.ours), pair)
    return list(found.values())


def _distance(pair: Pair) -> tuple[float, float, float]:
    vitis = pair.ours
    return (abs(vitis.get(_TABLE) - _PAPER_TABLE), -vitis.get(_FRIENDS), vitis.get(_ALPHA) or 0.0)


def _pattern(variant: VariantResult) -> str:
    return str(variant.get(_PATTERN))


def _of_pattern(name: str) -> Callable[[Variants], list[Pair]]:
    return lambda variants: [p for p in _paper_pairs(variants) if _pattern(p.ours) == name]


def _paper_variants(variants: Variants) -> list[VariantResult]:
    return members(_paper_pairs(variants))


def _of_both_systems(variants: Variants) -> list[VariantResult]:
    static = [v for v in variants if is_static(v)]
    vitis, rvr = of_system(static, "vitis"), of_system(static, "rvr")
    return vitis + rvr if vitis and rvr else []


def _with_high_and_random(among: Callable[[Variants], list[VariantResult]]) -> Callable[[Variants], Variants]:
    """Return a function that selects these variants, if both patterns are among them."""

    def find(variants: Variants) -> Variants:
        found = among(variants)
        return found if {"high", "random"} <= {_pattern(v) for v in found} else []

    return find


def _varied(key: str) -> Callable[[Variants], list[VariantResult]]:
    """Return a function that selects static Vitis, if the value at a key is varied."""

    def find(variants: Variants) -> list[VariantResult]:
        found = [v for v in of_system(variants, "vitis") if is_static(v) and v.get(key) is not None]
        return found if len({v.get(key) for v in found}) > 1 else []

    return find


def _is(system: str, pattern: str) -> Callable[[VariantResult], bool]:
    return lambda v: v.get("system.name") == system and _pattern(v) == pattern


def _more_saved(variants: Variants) -> Found:
    """Return the points of overhead that high correlation saves beyond what any other pattern saves."""
    savings = {
        _pattern(p.ours): compare(p.ours, p.theirs, "overhead", saving) for p in _paper_pairs(variants)
    }
    high = savings.pop("high", None)
    return {f"high to {pattern}": _difference(high, other) for pattern, other in savings.items()}


def _less_than_random(key: str, measure: str) -> Callable[[Variants], Found]:
    """Return a function that finds the ratio of a measure with high correlation to that with random
    subscriptions.

    Both are taken at the highest value of a key.
    """

    def find(variants: Variants) -> Found:
        last = {
            pattern: max((v for v in variants if _pattern(v) == pattern), key=lambda v: float(v.get(key)))
            for pattern in ("high", "random")
        }
        return {"high to random": compare(last["high"], last["random"], measure, ratio)}

    return find


def _gap(measure: str) -> Callable[[Variants], Found]:
    """Return a function that finds the ratio of two gaps between random and high correlation.

    The first gap is that at the largest alpha, the second that at the smallest.
    """

    def find(variants: Variants) -> Found:
        gaps = []
        for end in (max, min):
            at = end(float(v.get(_ALPHA)) for v in variants)
            of = {_pattern(v): v.measures.get(measure) for v in variants if float(v.get(_ALPHA)) == at}
            gap = _difference(of.get("random"), of.get("high"))
            gaps.append(abs(gap.mean) if gap else None)
        last, first = gaps
        return {"last to first": estimate([last / first]) if last is not None and first else None}

    return find


def _difference(one: Estimate | None, other: Estimate | None) -> Estimate | None:
    return estimate([one.mean - other.mean]) if one and other else None


def _of_large_tables(variants: Variants) -> list[Pair]:
    return [p for p in _pairs(variants) if _pattern(p.ours) == "random" and p.ours.get(_TABLE) > _FULL_TABLE]


def _both_with_tables(variants: Variants) -> list[VariantResult]:
    found = [v for v in _of_both_systems(variants) if v.get(_TABLE) is not None]
    return found if len({v.get(_TABLE) for v in found}) > 1 else []


def _churning(variants: Variants) -> list[Pair]:
    return [p for p in _pairs(variants) if not is_static(p.ours)]


def _of(system: str, find: Find) -> Find:
    """Return a function that looks at one system's variants alone."""
    return OfSome(lambda variants: of_system(variants, system), find)


VITIS = (
    Claim(
        "V1",
        "All events reach all subscribers in a static network.",
        _of_both_systems,
        "static variants of both Vitis and RVR",
        {**_NETWORK, **_TOPICS},
        (
            Number("hit ratio of Vitis", at_least(1.0, "share"), _of("vitis", each("hit_ratio"))),
            Number("hit ratio of RVR", at_least(1.0, "share"), _of("rvr", each("hit_ratio"))),
        ),
    ),
    Claim(
        "V2",
        "Vitis has less traffic overhead than RVR, most so with high correlation.",
        _with_high_and_random(_paper_variants),
        "pairs of Vitis and RVR with high and with random correlation",
        {**_STATIC, _FRIENDS: AnyOf((12, None))},
        (
            Number(
                "overhead saved with high correlation",
                about(0.88, "share", better="higher"),
                of_pair(_of_pattern("high"), "overhead", saving),
            ),
            Number(
                "overhead with random subscriptions, to RVR's",
                below(1 / 3, "times"),
                of_pair(_of_pattern("random"), "overhead", ratio),
            ),
            Number("saved with high correlation, more than else", above(0, "share"), _more_saved),
        ),
    ),
    Claim(
        "V3",
        "With more friends, correlated subscriptions have less delay and random ones more (figure 4b).",
        _with_high_and_random(_varied(_FRIENDS)),
        "Vitis with several numbers of friends, with high and with random correlation",
        _STATIC,
        (
            Number(
                "delay in hops with most friends to that with fewest, high correlation",
                below(1, "times"),
                of_ends(_FRIENDS, "delay_hops", ratio, _is("vitis", "high")),
            ),
            Number(
                "the same with random subscriptions",
                above(1, "times"),
                of_ends(_FRIENDS, "delay_hops", ratio, _is("vitis", "random")),
            ),
            Number(
                "delay in hops with most friends, high correlation to random",
                below(1, "times"),
                _less_than_random(_FRIENDS, "delay_hops"),
            ),
        ),
    ),
    Claim(
        "V4",
        "Far fewer peers bear much overhead.",
        _paper_variants,
        "pairs of Vitis and RVR",
        {**_STATIC, _FRIENDS: AnyOf((12, None))},
        (
            Number(
                "peers above 20 % overhead, to RVR's",
                below(1 / 3, "times"),
                of_pair(_paper_pairs, "overhead_above_20", ratio),
            ),
        ),
    ),
    Claim(
        "V5",
        "Larger routing tables lower overhead and delay in both systems; above 30 entries Vitis is faster "
        "with random subscriptions too.",
        _with_high_and_random(_both_with_tables),
        "variants of Vitis and RVR with several routing tables, with high and with random correlation",
        {**_NETWORK, **_TOPICS, _RATES: "uniform", _TABLE: Sweep(15, 35)},
        (
            *(
                Number(
                    f"{words} of {title} with the largest table to that with the smallest, {pattern}",
                    below(1, "times"),
                    of_ends(_TABLE, measure, ratio, _is(system, pattern)),
                )
                for system, title in (("vitis", "Vitis"), ("rvr", "RVR"))
                for pattern in ("high", "random")
                for measure, words in (("overhead", "overhead"), ("delay_hops", "delay in hops"))
            ),
            Number(
                "delay in hops with more than 30 entries, to RVR's, random",
                below(1, "times"),
                of_pair(_of_large_tables, "delay_hops", ratio),
            ),
        ),
    ),
    Claim(
        "V6",
        "With skewed publication rates, random subscriptions come close to correlated ones (figure 7).",
        _with_high_and_random(_varied(_ALPHA)),
        "Vitis with several alphas, with high and with random correlation",
        {**_NETWORK, **_TOPICS, _TABLE: _PAPER_TABLE, _RATES: "power-law", _ALPHA: Sweep(0.3, 3)},
        (
            Number(
                "gap in overhead with the largest alpha, to the first", below(1, "times"), _gap("overhead")
            ),
            Number("gap in hops with the largest alpha, to the first", below(1, "times"), _gap("delay_hops")),
        ),
    ),
    Claim(
        "V9",
        "Vitis keeps delivering under churn and in a flash crowd, RVR loses more; under moderate churn "
        "overhead and delay are stable.",
        lambda variants: members(_churning(variants)),
        "pair of Vitis and RVR under churn",
        {
            "peers": 4000,
            **{k: v for k, v in _NETWORK.items() if k != "peers"},
            _RATES: "uniform",
            _TABLE: _PAPER_TABLE,
            "churn.model.kind": "trace",
        },
        (
            Number(
                "worst hit ratio of Vitis", at_least(0.99, "share"), _of("vitis", each("hit_ratio_lowest"))
            ),
            Number("worst hit ratio of RVR", about(0.87, "share"), _of("rvr", each("hit_ratio_lowest"))),
            Number(
                "standard deviation of overhead before a flash crowd, to its mean",
                at_most(0.1, "share"),
                each("overhead_variation"),
            ),
            Number(
                "standard deviation of the delay in hops before a flash crowd, to its mean",
                at_most(0.1, "share"),
                each("delay_hops_variation"),
            ),
        ),
    ),
    Claim(
        "V10",
        "Vitis has much less traffic overhead than RVR.",
        _paper_variants,
        "pairs of Vitis and RVR",
        {**_STATIC, _FRIENDS: AnyOf((12, None))},
        (
            Number(
                "overhead saved",
                between(0.4, 0.75, "share", better="higher"),
                of_pair(_paper_pairs, "overhead", saving),
            ),
        ),
    ),
)
