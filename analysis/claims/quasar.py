"""What the Quasar paper claims (section 4), and whether a run bears it out."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.claims.evidence import Claim, Evidence, Finding, Variants, is_static, lacks
from analysis.measures.variants import VariantResult

_KIND = "workload.subscriptions.kind"
_SIZE = "workload.subscriptions.size"
_FULL = 0.97
_TREND = 0.03
"""By how much coverage may differ between sizes of the network without being a trend: figure 3's bars."""
_STORAGE = 22 * 1024
_FALSE = 0.006


def _static(variants: Variants) -> list[VariantResult]:
    """Static variants of Quasar over groups that were measured, by size of the network."""
    found = [
        v for v in variants if str(v.get("system.name")).startswith("quasar-") and v.measures and is_static(v)
    ]
    return sorted((v for v in found if v.get(_KIND) == "groups"), key=lambda v: int(v.get("peers")))


def _lines(variants: Variants) -> dict[str, list[VariantResult]]:
    """The three lines of figure 3."""
    found: dict[str, list[VariantResult]] = {}
    for variant in _static(variants):
        size = variant.get(_SIZE)
        name = "MySpace" if size is None else f"{size:g} of all" if size < 1 else f"{size:g} peers"
        found.setdefault(name, []).append(variant)
    return found


def _along(evidence: Evidence, line: Sequence[VariantResult], name: str, measure: str) -> list[float]:
    return [
        evidence.value(f"{name}, {v.get('peers')} peers, {v.name}", v.measures.get(measure)) or 0.0
        for v in line
    ]


def _coverage(variants: Variants) -> Finding:
    lines = _lines(variants)
    if not lines:
        return lacks("static variants of Quasar over groups")
    evidence = Evidence()
    for name, line in lines.items():
        reached = _along(evidence, line, name, "coverage")
        if name == "MySpace":
            evidence.check(min(reached) > _FULL, f"{min(reached):.1%} with MySpace's group sizes")
        spread = max(reached) - min(reached)
        evidence.check(spread <= _TREND, f"coverage of groups of {name} differs by {spread:.1%}")
    return evidence.finding()


def _hops(variants: Variants) -> Finding:
    line = _lines(variants).get("100 peers", [])
    if len({v.get("peers") for v in line}) < 2:
        return lacks("static variants of Quasar with groups of 100 and several sizes of the network")
    evidence = Evidence()
    hops = _along(evidence, line, "last hop", "last_hop")
    evidence.check(hops[-1] > hops[0], "the hops do not grow with the network")
    growth = hops[-1] / hops[0] if hops[0] else 0.0
    evidence.check(growth < 2, f"the hops grow {growth:.1f} times")
    evidence.check(
        all(14.5 <= each < 24.5 for each in hops), f"{min(hops):.1f} to {max(hops):.1f} hops, not 15 to 24"
    )
    return evidence.finding()


def _storage(variants: Variants) -> Finding:
    found = _static(variants)
    if not found:
        return lacks("static variants of Quasar over groups")
    evidence = Evidence()
    most = _along(evidence, found, "filters kept", "filter_bytes_max")
    evidence.check(max(most) <= _STORAGE, f"a peer keeps {max(most) / 1000:.1f} kB of filters")
    return evidence.finding()


def _false_positives(variants: Variants) -> Finding:
    line = _lines(variants).get("MySpace", [])
    if not line:
        return lacks("static variants of Quasar with MySpace's group sizes")
    evidence = Evidence()
    false = _along(evidence, line, "false", "gradients_false")
    evidence.check(max(false) <= _FALSE, f"{max(false):.2%} of the gradients are false")
    recovered = _along(evidence, line, "recovered", "gradients_recovered")
    evidence.check(
        min(recovered) == 1,
        f"only {min(recovered):.0%} of them find another gradient at the next hop; the others step at random",
    )
    return evidence.finding()


def _spread(variants: Variants) -> Finding:
    evidence = Evidence()
    lines = [line for name, line in _lines(variants).items() if name.endswith("of all") and len(line) > 1]
    if not lines:
        return lacks("static variants of Quasar with groups of a share of all peers, in several sizes")
    for line in lines:
        deviations = _along(evidence, line, "standard deviation", "coverage_sd")
        evidence.check(deviations[-1] < deviations[0], "coverage does not vary less in larger groups")
    return evidence.finding()


QUASAR = (
    Claim(
        "Q1",
        "Quasar reaches a high share of a group, whatever the size of network and group.",
        "above 97 % with MySpace's group sizes at every size; no trend with groups of 100 and of 2 %",
        _coverage,
    ),
    Claim(
        "Q2",
        "The way to the last member of a group of 100 grows modestly with the network.",
        "15 to 24 hops from 1,024 to 32,768 peers",
        _hops,
    ),
    Claim("Q3", "A peer keeps little.", "at most 22 kB of filters", _storage),
    Claim(
        "Q4",
        "False positives are rare, and recovered from at the next hop.",
        "0.5 % during routing, all recovered",
        _false_positives,
    ),
    Claim("Q5", "Coverage varies less with larger groups.", "error bars of figure 3, groups of 2 %", _spread),
)
