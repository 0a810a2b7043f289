"""What the Magnet paper claims (section 4), and whether a run bears it out.

The strawman is the same system on hashed identifiers; a saving is the share of its relays that an event does
without, for each seed that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.claims.evidence import (
    Claim,
    Evidence,
    Finding,
    Variants,
    compare,
    is_static,
    lacks,
    ratio,
    saving,
)
from analysis.measures.variants import VariantResult

RELAYS = "relays_per_event"
_PLACEMENT = "system.parameters.placement"
_SAMPLES = "system.parameters.samples"
_KIND = "workload.subscriptions.kind"
_CHOSEN = "workload.subscriptions.chosen"
_CATEGORIES = "workload.subscriptions.categories"
_TOPIC_ALPHA = "workload.subscriptions.alpha"
_PER_PEER = "workload.subscriptions.per_peer"
_RATES = "workload.publications.rates.kind"
_PAPER_LOWEST, _PAPER_HIGHEST = 0.2, 0.8
"""The savings of MULTI-MODAL interests that the paper tells of."""
_FEW_SAMPLES, _SAMPLES_OF_PAPER, _AS_GOOD = 3, 10, 0.03


@dataclass(frozen=True, slots=True)
class Pair:
    """One setting, run by Magnet and by the strawman."""

    magnet: VariantResult
    strawman: VariantResult

    def saved(self, evidence: Evidence, label: str) -> float:
        """The share of relays saved, recorded; 0 if it was not measured."""
        return evidence.value(f"saving, {label}", compare(self.magnet, self.strawman, RELAYS, saving)) or 0.0


def pairs(variants: Variants) -> list[Pair]:
    """Each static variant of Magnet with the strawman of the same workload and ring."""
    strawmen = {_key(v): v for v in _placed(variants, "hashed")}
    return [
        Pair(v, strawmen[_key(v)])
        for v in _placed(variants, "similar")
        if is_static(v) and _key(v) in strawmen
    ]


def _placed(variants: Variants, how: str) -> list[VariantResult]:
    def is_magnet(variant: VariantResult) -> bool:
        return str(variant.get("system.name")).startswith("magnet-") and bool(variant.measures)

    return [v for v in variants if is_magnet(v) and v.get(_PLACEMENT) == how]


def _key(variant: VariantResult) -> str:
    rest: dict[str, Any] = {k: v for k, v in variant.setting.items() if k not in ("system", "seed")}
    return repr((variant.get("system.parameters.interest"), sorted(rest.items())))


def _of_kind(variants: Variants, kind: str) -> list[Pair]:
    return [pair for pair in pairs(variants) if pair.magnet.get(_KIND) == kind]


def _multi_modal(variants: Variants) -> Finding:
    found = _of_kind(variants, "multi-modal")
    by = {(_share(p), int(p.magnet.get(_CHOSEN)), str(p.magnet.get(_RATES))): p for p in found}
    if len({rates for *_, rates in by}) < 2 or len({chosen for _, chosen, _ in by}) < 2:
        return lacks("pairs of Magnet and strawman with several correlations and rates")
    evidence = Evidence()
    saved = {
        setting: pair.saved(evidence, f"{setting[1]}/{pair.magnet.get(_CATEGORIES)}, {setting[2]}")
        for setting, pair in by.items()
    }
    for (share, chosen, rates), value in saved.items():
        label = f"{chosen} of a share of {share:g}, {rates}"
        evidence.check(value >= _PAPER_LOWEST, f"{value:.0%} saved with {label}")
        more = [v for (s, c, r), v in saved.items() if (s, r) == (share, rates) and c > chosen]
        evidence.check(all(v < value for v in more), f"less correlation saves more than {label}")
        skewed = saved.get((share, chosen, "power-law"))
        if rates == "uniform" and skewed is not None:
            evidence.check(skewed > value, f"skewed rates do not save more with {label}")
    for pair in found:
        evidence.value(f"popular topics, {pair.magnet.name}", pair.magnet.measures.get("overhead_popular"))
        evidence.value(f"neighbours, {pair.magnet.name}", pair.magnet.measures.get("ring_similarity"))
    return evidence.finding()


def _share(pair: Pair) -> float:
    return float(pair.magnet.get(_CHOSEN)) / float(pair.magnet.get(_CATEGORIES))


def _popularity(variants: Variants) -> Finding:
    found = _of_kind(variants, "multi-modal")
    evidence = Evidence()
    told = False
    for key in (_TOPIC_ALPHA, _PER_PEER):
        curve = {(p.magnet.get(key), str(p.magnet.get(_RATES))): p for p in found}
        if len({value for value, _ in curve}) < 2:
            continue
        told = True
        saved = {
            at: pair.saved(evidence, f"{key.rpartition('.')[2]} {at[0]:g}, {at[1]}")
            for at, pair in sorted(curve.items())
        }
        for at, value in saved.items():
            evidence.check(value > 0, f"nothing saved with {at[0]:g}")
        if key == _TOPIC_ALPHA:
            ends = list(saved.values())
            evidence.check(ends[-1] > ends[0], "the saving does not grow with alpha")
    return evidence.finding() if told else lacks("several values of alpha or several sizes of subscriptions")


def _spatial(variants: Variants) -> Finding:
    found = sorted(_of_kind(variants, "spatial"), key=lambda pair: float(pair.magnet.get(_PER_PEER)))
    if len(found) < 2:
        return lacks("several pairs of Magnet and strawman with spatial interests")
    evidence = Evidence()
    saved = [pair.saved(evidence, f"t = {float(pair.magnet.get(_PER_PEER)):g}") for pair in found]
    evidence.check(saved == sorted(saved), "the saving does not grow with t")
    return evidence.finding()


def _hierarchical(variants: Variants) -> Finding:
    found = _of_kind(variants, "hierarchical-topics")
    if len(found) < 2:
        return lacks("several pairs of Magnet and strawman with hierarchical topics")
    keys = ("homophily", "initial", "per_peer")
    evidence = Evidence()

    def setting(pair: Pair) -> tuple[float, ...]:
        return tuple(float(pair.magnet.get(f"workload.subscriptions.{key}")) for key in keys)

    saved = {
        setting(pair): pair.saved(
            evidence, ", ".join(f"{k} {v:g}" for k, v in zip(keys, setting(pair), strict=True))
        )
        for pair in found
    }
    for one, value in saved.items():
        evidence.check(value >= _PAPER_LOWEST, f"{value:.0%} saved with {one}")
        for other, theirs in saved.items():
            differing = [place for place in range(len(keys)) if one[place] != other[place]]
            if len(differing) == 1:
                place = differing[0]
                # More of lambda, less of the others is more correlation.
                correlated = one[place] > other[place] if place == 0 else one[place] < other[place]
                evidence.check(not correlated or value > theirs, f"{keys[place]} acts the other way")
    return evidence.finding()


def _editors(variants: Variants) -> Finding:
    found = [*_of_kind(variants, "editors"), *_of_kind(variants, "editors-file")]
    if not found:
        return lacks("pair of Magnet and strawman with editors")
    evidence = Evidence()
    for pair in found:
        label = f"strawman to Magnet, {pair.magnet.get(_KIND)}"
        times = evidence.value(label, compare(pair.strawman, pair.magnet, RELAYS, ratio)) or 0.0
        evidence.check(times > 1, "the strawman has no more relays")
    return evidence.finding()


def _uncorrelated(variants: Variants) -> Finding:
    found = _of_kind(variants, "random")
    if not found:
        return lacks("pair of Magnet and strawman with random interests")
    evidence = Evidence()
    for pair in found:
        saved = pair.saved(evidence, "against the strawman")
        evidence.check(saved >= 0, f"{-saved:.1%} more relays than the strawman")
        for scribe in _scribes(variants):
            against = compare(pair.magnet, scribe, RELAYS, saving)
            evidence.value(f"saving, against {scribe.get('system.name')}", against)
    return evidence.finding()


def _scribes(variants: Variants) -> Sequence[VariantResult]:
    return [v for v in variants if v.get("system.name") == "scribe-oscar" and v.measures]


def _samples(variants: Variants) -> Finding:
    strawmen = {_key(v): v for v in _placed(variants, "hashed")}
    curve = {int(v.get(_SAMPLES)): v for v in _placed(variants, "similar") if _key(v) in strawmen}
    if not curve.keys() >= {_FEW_SAMPLES, _SAMPLES_OF_PAPER}:
        return lacks("Magnet with three and with ten samples, and the strawman")
    evidence = Evidence()
    saved = {
        samples: Pair(v, strawmen[_key(v)]).saved(evidence, f"{samples} samples")
        for samples, v in sorted(curve.items())
    }
    evidence.check(saved[_SAMPLES_OF_PAPER] > 0, "nothing is saved with ten samples")
    short = saved[_SAMPLES_OF_PAPER] - saved[_FEW_SAMPLES]
    evidence.check(short <= _AS_GOOD, f"three samples save {short:.1%} of the relays less than ten")
    return evidence.finding()


MAGNET = (
    Claim(
        "M1",
        "Relays are saved against the strawman: more with more correlation and with skewed rates.",
        "between 20 % and 80 % fewer relays; popular topics almost free of them",
        _multi_modal,
    ),
    Claim(
        "M2",
        "The saving grows with the skew of topics' popularity, and there is one with all subscription sizes.",
        "5,000 peers, 18 topics a peer; figure 4, no numbers in the text",
        _popularity,
    ),
    Claim(
        "M3",
        "With spatial interests the saving grows with the number of topics a peer.",
        "nearly 80 % at 10,000 peers with 32 topics",
        _spatial,
    ),
    Claim(
        "M4",
        "With a hierarchy of topics the saving grows with homophily, and falls with initFrac and Z.",
        "20 % to 60 % at 2^14 peers",
        _hierarchical,
    ),
    Claim(
        "M5",
        "On the interests of an encyclopedia's editors the strawman has more relays.",
        "77 % more",
        _editors,
    ),
    Claim("M6", "With uncorrelated interests Magnet is never worse.", "no more relays", _uncorrelated),
    Claim("M7", "Few samples of each topic suffice.", "10 samples a topic", _samples),
)
