"""What the Vitis paper claims (sections IV and V), and whether a run bears it out."""

from __future__ import annotations

from analysis.claims.evidence import (
    Claim,
    Evidence,
    Finding,
    Variants,
    is_static,
    lacks,
    of_system,
    ratio,
    saving,
)
from analysis.claims.pairs import ALPHA, FRIENDS, PATTERN, TABLE, pairs, paper_pairs
from analysis.measures.variants import VariantResult

_FULL_TABLE = 30


def _full_hit_ratio(variants: Variants) -> Finding:
    static = [v for v in variants if is_static(v)]
    if not of_system(static, "vitis") or not of_system(static, "rvr"):
        return lacks("static variants of both Vitis and RVR")
    evidence = Evidence()
    for variant in of_system(static, "vitis") + of_system(static, "rvr"):
        hit = evidence.value(variant.name, variant.measures.get("hit_ratio"))
        evidence.check(hit in (None, 1.0), f"{variant.name} delivers {hit or 0:.4%}")
    return evidence.finding()


def _overhead_by_pattern(variants: Variants) -> Finding:
    found = paper_pairs(variants)
    if not found.keys() >= {"high", "random"}:
        return lacks("pairs of Vitis and RVR with high and with random correlation")
    evidence = Evidence()
    savings = {}
    for pattern, pair in found.items():
        saved = evidence.value(f"saving, {pattern}", pair.compare("overhead", saving))
        savings[pattern] = saved or 0.0
        evidence.check(savings[pattern] > 0, f"no saving with {pattern} correlation")
    largest = max(savings, key=lambda pattern: savings[pattern])
    evidence.check(largest == "high", f"the saving is largest with {largest} correlation")
    note = (
        ""
        if savings["random"] > 2 / 3 and savings["high"] >= 0.88
        else "the shape holds, the paper's size not"
    )
    return evidence.finding("" if evidence.against else note)


def _delay_by_friends(variants: Variants) -> Finding:
    curves = _curves(variants, FRIENDS, "vitis")
    if not curves.keys() >= {"high", "random"} or any(len(c) < 2 for c in curves.values()):
        return lacks("Vitis with several numbers of friends, with high and with random correlation")
    evidence = Evidence()
    for pattern, curve in curves.items():
        first, last = _ends(evidence, curve, FRIENDS, "delay_hops")
        if pattern == "random":
            evidence.check(last > first, "with random subscriptions, more friends do not raise the delay")
        else:
            evidence.check(last < first, f"with {pattern} correlation, more friends do not lower the delay")
    final = {
        p: c[-1].measures["delay_hops"].mean for p, c in curves.items() if "delay_hops" in c[-1].measures
    }
    if final.keys() >= {"high", "random"}:
        evidence.check(final["high"] < final["random"], "high correlation does not have the lower delay")
    return evidence.finding()


def _loaded_peers(variants: Variants) -> Finding:
    found = paper_pairs(variants)
    if not found:
        return lacks("pairs of Vitis and RVR")
    evidence = Evidence()
    for pattern, pair in found.items():
        times = evidence.value(f"Vitis to RVR, {pattern}", pair.compare("overhead_above_20", ratio))
        for variant in (pair.vitis, pair.rvr):
            evidence.value(variant.name, variant.measures.get("overhead_above_20"))
        evidence.check((times or 0) < 1 / 3, f"{times or 0:.2f} of RVR's share with {pattern} correlation")
    return evidence.finding()


def _larger_tables(variants: Variants) -> Finding:
    evidence = Evidence()
    for system in ("vitis", "rvr"):
        curves = _curves(variants, TABLE, system)
        if not curves or any(len(c) < 2 for c in curves.values()):
            return lacks(f"variants of {system} with several sizes of routing table")
        for pattern, curve in curves.items():
            for measure in ("overhead", "delay_hops"):
                first, last = _ends(evidence, curve, TABLE, measure)
                evidence.check(
                    last < first, f"{measure} of {system} with {pattern} correlation does not fall"
                )
    large = [p for p in pairs(variants) if p.pattern == "random" and p.vitis.get(TABLE) >= _FULL_TABLE]
    if not large:
        return lacks("pair with random subscriptions and a routing table of 30 or more")
    for pair in large:
        size = pair.vitis.get(TABLE)
        times = evidence.value(
            f"delay, Vitis to RVR, random, table {size}", pair.compare("delay_hops", ratio)
        )
        evidence.check(
            (times or 0) < 1 or size == _FULL_TABLE, f"at {size} entries Vitis is not faster than RVR"
        )
    return evidence.finding()


def _skewed_rates(variants: Variants) -> Finding:
    curves = _curves([v for v in variants if v.get(ALPHA) is not None], ALPHA, "vitis")
    if not curves.keys() >= {"high", "random"} or any(len(c) < 2 for c in curves.values()):
        return lacks("Vitis with several alphas, with high and with random correlation")
    evidence = Evidence()
    for measure in ("overhead", "delay_hops"):
        high, random = (_ends(evidence, curves[p], ALPHA, measure) for p in ("high", "random"))
        narrows = abs(random[1] - high[1]) < abs(random[0] - high[0])
        evidence.check(narrows, f"the gap in {measure} between random and high correlation does not narrow")
    return evidence.finding()


def _churn(variants: Variants) -> Finding:
    churning = [p for p in pairs(variants) if not is_static(p.vitis)]
    if not churning:
        return lacks("pair of Vitis and RVR under churn")
    evidence = Evidence()
    for pair in churning:
        worst = []
        for variant in (pair.vitis, pair.rvr):
            evidence.value(f"{variant.name}, all", variant.measures.get("hit_ratio"))
            label = f"{variant.name}, worst interval"
            worst.append(evidence.value(label, variant.measures.get("hit_ratio_lowest")) or 0.0)
        evidence.check(worst[0] >= 0.99, f"{pair.vitis.name} falls to {worst[0]:.2%}")
        evidence.check(worst[1] < worst[0], f"{pair.rvr.name} does not fall lower than Vitis")
    return evidence.finding()


def _abstract(variants: Variants) -> Finding:
    found = paper_pairs(variants)
    if not found:
        return lacks("pairs of Vitis and RVR")
    evidence = Evidence()
    for pattern, pair in found.items():
        saved = evidence.value(f"saving, {pattern}", pair.compare("overhead", saving)) or 0.0
        evidence.check(saved >= 0.4, f"{saved:.0%} saved with {pattern} correlation")
    return evidence.finding()


def _curves(variants: Variants, key: str, system: str) -> dict[str, list[VariantResult]]:
    """The static variants of a system by subscription pattern, in ascending order of the value at `key`."""
    found: dict[str, list[VariantResult]] = {}
    for variant in of_system(variants, system):
        if is_static(variant) and variant.get(key) is not None:
            found.setdefault(str(variant.get(PATTERN)), []).append(variant)
    for curve in found.values():
        curve.sort(key=lambda v: float(v.get(key)))
    return found


def _ends(evidence: Evidence, curve: list[VariantResult], key: str, measure: str) -> tuple[float, float]:
    """Records the measure along the whole curve, and returns it at its two ends."""
    means = []
    for variant in curve:
        label = f"{measure}, {variant.get('system.name')}, {variant.get(PATTERN)}, {key.rpartition('.')[2]}"
        means.append(evidence.value(f"{label}={variant.get(key)}", variant.measures.get(measure)) or 0.0)
    return means[0], means[-1]


VITIS = (
    Claim(
        "V1",
        "All events reach all subscribers in a static network.",
        "hit ratio 100 % for Vitis and RVR",
        _full_hit_ratio,
    ),
    Claim(
        "V2",
        "Vitis has less traffic overhead than RVR, most so with high correlation.",
        "at 12 friends 88 % less with high correlation, less than a third of RVR's with random",
        _overhead_by_pattern,
    ),
    Claim(
        "V3",
        "Correlated subscriptions have less delay, and less with more friends; random ones have more.",
        "figure 4(b), no numbers in the text",
        _delay_by_friends,
    ),
    Claim(
        "V4",
        "Far fewer peers bear much overhead.",
        "peers above 20 % overhead: less than a third of RVR's share",
        _loaded_peers,
    ),
    Claim(
        "V5",
        "Larger routing tables lower overhead and delay in both systems.",
        "from 15 to 35 entries; above 30, Vitis with random subscriptions has less delay than RVR",
        _larger_tables,
    ),
    Claim(
        "V6",
        "With skewed publication rates, random subscriptions come close to correlated ones.",
        "alpha from 0.3 to 3; figure 7, no numbers in the text",
        _skewed_rates,
    ),
    Claim(
        "V9",
        "Vitis keeps delivering under churn and in a flash crowd; RVR loses more.",
        "worst hit ratio 99 % for Vitis, 87 % for RVR",
        _churn,
    ),
    Claim("V10", "Vitis has much less traffic overhead than RVR.", "40 % to 75 % less", _abstract),
)
