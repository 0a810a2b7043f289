"""What Li's thesis claims (chapter 4), and whether a run bears it out.

The thesis serializes messages by Java, so its bytes are not ours: what is compared are ratios to the mean,
and which of two variants has less.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from analysis.claims.evidence import (
    Claim,
    Evidence,
    Finding,
    Variants,
    compare,
    is_static,
    lacks,
    of_system,
    ratio,
    saving,
)
from analysis.measures.variants import VariantResult

_PEERS = "peers"
_PROBING = "system.parameters.probing"
_CUT_OFF = "system.parameters.cut_off"
_PAPER_PEERS = 1000
_POINTS, _ABOUT = 0.05, 0.1
"""How far "about" reaches: for shares, and for ratios as a share of the paper's number."""
_AS_IN_THESIS = "variant of Li's system as in the thesis"
_PUBLISH, _MATCH = "publish_bytes_per_event_and_node", "matching_bytes_per_event_and_node"


def _static(variants: Variants) -> list[VariantResult]:
    return [v for v in of_system(variants, "li") if is_static(v)]


def _usual(variants: Variants) -> list[VariantResult]:
    """As in most of the thesis: multicast, with the cut-off line."""
    return [v for v in _static(variants) if v.get(_PROBING) != "unicast" and v.get(_CUT_OFF)]


def _of_paper_size(variants: Variants) -> list[VariantResult]:
    usual = _usual(variants)
    nearest = min((abs(v.get(_PEERS) - _PAPER_PEERS) for v in usual), default=0)
    return [v for v in usual if abs(v.get(_PEERS) - _PAPER_PEERS) == nearest]


def _shares(mean: str, at_least: dict[str, float]) -> Callable[[Variants], Finding]:
    """A finding that asks for shares of deliveries or installations."""

    def find(variants: Variants) -> Finding:
        usual = _of_paper_size(variants)
        if not usual:
            return lacks(_AS_IN_THESIS)
        evidence = Evidence()
        for variant in usual:
            evidence.value(f"{mean}, {variant.name}", variant.measures.get(mean))
            for measure, least in at_least.items():
                share = evidence.value(f"{measure}, {variant.name}", variant.measures.get(measure)) or 0.0
                evidence.check(
                    share >= least - _POINTS,
                    f"{share:.0%} instead of {least:.0%}: {measure}, {variant.name}",
                )
        return evidence.finding()

    return find


def _spread(mean: str, at_most: dict[str, float]) -> Callable[[Variants], Finding]:
    """A finding that asks how far peers lie above the mean."""

    def find(variants: Variants) -> Finding:
        usual = _of_paper_size(variants)
        if not usual:
            return lacks(_AS_IN_THESIS)
        evidence = Evidence()
        for variant in usual:
            average = evidence.value(f"{mean}, {variant.name}", variant.measures.get(mean))
            for measure, most in at_most.items():
                found = evidence.value(f"{measure}, {variant.name}", variant.measures.get(measure))
                times = (found or 0.0) / average if average else 0.0
                evidence.check(
                    times <= most * (1 + _ABOUT),
                    f"{times:.1f} instead of {most:.1f} times the mean: {measure}, {variant.name}",
                )
        return evidence.finding()

    return find


def _multicast(variants: Variants) -> Finding:
    found = _pairs(variants, _PROBING, lambda way: way == "multicast", lambda way: way == "unicast")
    if not found:
        return lacks("pair of variants that differ in multicast or unicast alone")
    evidence = Evidence()
    for ours, theirs in found:
        for measure in (_MATCH, "matching_bytes_max", "matching_bytes_p70"):
            saved = evidence.value(f"saving, {measure}, {ours.name}", compare(ours, theirs, measure, saving))
            evidence.check((saved or 0) > 0, f"no saving: {measure}, {ours.name}")
    return evidence.finding()


def _cut_off(variants: Variants) -> Finding:
    found = _pairs(variants, _CUT_OFF, bool, lambda c: c == 0)
    if not found:
        return lacks("pair of variants that differ in the cut-off line alone")
    evidence = Evidence()
    for ours, theirs in found:
        falls = []
        for measure in (_MATCH, "matching_bytes_top_20"):
            saved = evidence.value(f"saving, {measure}, {ours.name}", compare(ours, theirs, measure, saving))
            evidence.check((saved or 0) > 0, f"no saving: {measure}, {ours.name}")
            fall = compare(ours, theirs, measure, lambda one, other: other - one)
            falls.append(fall.mean if fall else 0.0)
        evidence.check(falls[1] > falls[0], f"the top 20 peers of {ours.name} save less than the others")
    return evidence.finding()


def _scaling(variants: Variants) -> Finding:
    curve = sorted(_usual(variants), key=lambda v: int(v.get(_PEERS)))
    sizes = {v.get(_PEERS) for v in curve}
    if len(sizes) < 2:
        return lacks("variants of Li's system with several numbers of peers")
    evidence = Evidence()
    for variant in curve:
        for measure in ("delay_ms", "delay_ms_max", _PUBLISH, "publish_bytes_max"):
            evidence.value(f"{measure}, {variant.name}", variant.measures.get(measure))
    ends = curve[-1], curve[0]

    def times(measure: str) -> float:
        found = evidence.value(f"{measure}, largest to smallest", compare(*ends, measure, ratio))
        return found or 0.0

    grown = ends[0].get(_PEERS) / ends[1].get(_PEERS)
    delay = times("delay_ms")
    evidence.check(
        delay < math.sqrt(grown), f"the mean delay grows {delay:.2f} times with {grown:g} times the peers"
    )
    longest = times("delay_ms_max")
    evidence.check(longest <= 1.25, f"the longest delay grows {longest:.2f} times")
    evidence.check(times(_PUBLISH) < 1, "the mean bandwidth does not fall")
    evidence.check(times("publish_bytes_max") > 1, "the maximum bandwidth does not rise")
    return evidence.finding()


def _pairs(
    variants: Variants, key: str, ours: Callable[[Any], bool], theirs: Callable[[Any], bool]
) -> list[tuple[VariantResult, VariantResult]]:
    """Static variants that are the same but for the value at `key`."""
    others = {_without(v, key): v for v in _static(variants) if theirs(v.get(key))}
    return [
        (v, others[rest])
        for v in _static(variants)
        if ours(v.get(key)) and (rest := _without(v, key)) in others
    ]


def _without(variant: VariantResult, key: str) -> str:
    """The setting but for the value at a dotted key, and the seed."""
    setting = json.loads(json.dumps(variant.setting))
    setting.pop("seed", None)
    *above, last = key.split(".")
    here = setting
    for part in above:
        here = here[part]
    here.pop(last, None)
    return json.dumps(setting, sort_keys=True)


LI = (
    Claim(
        "L1",
        "Most subscriptions are installed within a second.",
        "mean 331 ms, about 70 % within 600 ms, about 90 % within 1 s",
        _shares("install_delay_ms", {"install_within_600_ms": 0.7, "install_within_1_s": 0.9}),
    ),
    Claim(
        "L2",
        "Installing costs most peers about as little as the mean, and few of them several times as much.",
        "mean 14.32 bytes a subscription and peer; 78 % of the peers at most 20 (1.4 times), 98 % at most 60 "
        "(4.2 times), a few near 100",
        _spread(
            "install_bytes_per_subscription_and_node",
            {"install_bytes_p78": 20 / 14.32, "install_bytes_p98": 60 / 14.32},
        ),
    ),
    Claim(
        "L3",
        "Events are delivered within a second.",
        "mean 333 ms, about 70 % within 400 ms, nearly all within 1 s",
        _shares("delay_ms", {"delay_within_400_ms": 0.7, "delay_within_1_s": 0.99}),
    ),
    Claim(
        "L4",
        "Publishing costs most peers about as little as the mean.",
        "mean 1.32 kB an event and peer; 70 % at most 1.6 kB (1.2 times), 90 % at most 3 kB (2.3 times), "
        "none above 11 kB (8.3 times)",
        _spread(
            _PUBLISH,
            {
                "publish_bytes_p70": 1.6 / 1.32,
                "publish_bytes_p90": 3 / 1.32,
                "publish_bytes_max": 11 / 1.32,
            },
        ),
    ),
    Claim(
        "L5",
        "Multicast finds the subscribers with less traffic than unicast probing.",
        "without delivery, mean 1.05 against 1.48 kB (30 % less), maximum 9.4 against 12.2 kB",
        _multicast,
    ),
    Claim(
        "L6",
        "The cut-off line takes load from all peers, most from those that have most.",
        "without delivery, mean 1.05 instead of 2.12 kB (50 % less), the top 20 fall most",
        _cut_off,
    ),
    Claim(
        "L7",
        "With more peers the delay grows slowly, and the mean traffic of a peer falls.",
        "1,000 to 5,000 peers: mean delay from 330 to 430 ms, longest 1.6 to 1.8 s throughout, mean "
        "bandwidth slightly less, maximum more",
        _scaling,
    ),
)
