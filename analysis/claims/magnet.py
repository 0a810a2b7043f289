"""The claims of the Magnet paper (section 4).

The strawman is the same system on hashed identifiers. The paper's simulator counts relays, so of the network
only jitter and loss have to be as the paper's: there are none. Its 19 links are 17 long ones and two on the
ring.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

from analysis.claims.bounds import about, above, at_least, between
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
    of_pair,
    ratio,
    saving,
)
from analysis.claims.paper_setting import AnyOf, Setting, Sweep
from analysis.measures.variant_results import Estimate, VariantResult, estimate

_RELAYS = "relays_per_event"
_PLACEMENT = "system.parameters.placement"
_SAMPLES = "system.parameters.samples"
_LINKS = "system.parameters.interest.long_links"
_KIND = "workload.subscriptions.kind"
_TOPICS = "workload.subscriptions.topics"
_CHOSEN = "workload.subscriptions.chosen"
_CATEGORIES = "workload.subscriptions.categories"
_ALPHA = "workload.subscriptions.alpha"
_PER_PEER = "workload.subscriptions.per_peer"
_HOMOPHILY = "workload.subscriptions.homophily"
_INITIAL = "workload.subscriptions.initial"
_RATES = "workload.publications.rates"
_PAPER_SAMPLES = 10
_SIZE_OF_FIGURE_4 = 18
"""The number of a peer's topics where alpha is varied."""

_RING: Setting = {"network.jitter": "0 s", "network.loss": 0.0, _LINKS: 17}
_DEFAULT: Setting = {"peers": 10_000, **_RING, _SAMPLES: _PAPER_SAMPLES}
_MULTI_MODAL: Setting = {
    "peers": 10_000,
    **_RING,
    _TOPICS: 1000,
    _PER_PEER: 50,
    _ALPHA: 1,
    f"{_RATES}.alpha": AnyOf((0.75, None)),
}

Order = Callable[[VariantResult], float]
Alike = Callable[[VariantResult], str]


def _pairs(variants: Variants) -> list[Pair]:
    """Return the pairs of Magnet and the strawman in one setting. A strawman does not look at its samples."""
    found = [v for v in variants if str(v.get("system.name")).startswith("magnet-") and v.measures]
    alike = _alike(_PLACEMENT, _SAMPLES)
    strawmen = {alike(v): v for v in found if v.get(_PLACEMENT) == "hashed"}
    return [
        Pair(v.name, v, strawmen[alike(v)])
        for v in found
        if v.get(_PLACEMENT) == "similar" and alike(v) in strawmen
    ]


def _alike(*but: str) -> Alike:
    """Return a function that gives the setting of a variant without these dotted keys and the seed."""

    def rest(variant: VariantResult) -> str:
        setting = json.loads(json.dumps(variant.setting))
        for key in ("seed", *but):
            *above_it, last = key.split(".")
            here = setting
            for part in above_it:
                here = here.get(part, {})
            here.pop(last, None)
        return json.dumps(setting, sort_keys=True)

    return rest


def _of(*kinds: str) -> Callable[[Variants], Variants]:
    """Return a function that selects static pairs with subscriptions of these kinds."""
    return lambda variants: members(_pairs([v for v in variants if is_static(v) and v.get(_KIND) in kinds]))


def _curves(variants: Variants, order: Order, alike: Alike) -> list[list[Pair]]:
    """Return curves: pairs of the same setting in this order, if they differ in their place in it."""
    found: dict[str, list[Pair]] = {}
    for pair in sorted(_pairs(variants), key=lambda pair: order(pair.ours)):
        found.setdefault(alike(pair.ours), []).append(pair)
    return [curve for curve in found.values() if order(curve[0].ours) < order(curve[-1].ours)]


def _gained(order: Order, alike: Alike) -> Find:
    """Return a function that finds by how much the share of saved relays grows from end to end of
    each curve."""

    def find(variants: Variants) -> Found:
        return {c[-1].name: _more_saved(c[-1], c[0]) for c in _curves(variants, order, alike)}

    return find


def _at_each_step(order: Order, alike: Alike) -> Find:
    """Return a function that finds by how much the share of saved relays grows at each step of a curve."""

    def find(variants: Variants) -> Found:
        steps = [step for curve in _curves(variants, order, alike) for step in pairwise(curve)]
        return {step[1].name: _more_saved(step[1], step[0]) for step in steps}

    return find


def _by(key: str, saves_most: Literal["highest", "lowest"]) -> Find:
    """Return a function that finds the growth from end to end of curves over the value at a key."""
    sign = 1 if saves_most == "highest" else -1
    return _gained(lambda v: sign * float(v.get(key)), _alike(key))


def _grows(
    key: str, what: str, among: Callable[[VariantResult], bool] = lambda variant: True
) -> tuple[Number, Number]:
    """Return the numbers which say that the saving grows with the value at a key: from end to end, and at
    each step."""
    order, alike = (lambda v: float(v.get(key))), _alike(key)

    def of(find: Find) -> Find:
        return lambda variants: find([v for v in variants if among(v)])

    return (
        Number(
            f"saved with the largest {what}, more than with the smallest",
            above(0, "share"),
            of(_gained(order, alike)),
        ),
        Number(
            f"saved with each {what}, more than with the next smaller one",
            above(0, "share"),
            of(_at_each_step(order, alike)),
        ),
    )


def _more_saved(one: Pair, other: Pair) -> Estimate | None:
    ours, theirs = _savings(one), _savings(other)
    both = [ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()]
    return estimate(both) if both else None


def _savings(pair: Pair) -> dict[int, float]:
    """Return the share of relays that is saved, by seed."""
    found = {}
    for seed in pair.ours.trials.keys() & pair.theirs.trials.keys():
        one, other = pair.ours.trials[seed].get(_RELAYS), pair.theirs.trials[seed].get(_RELAYS)
        if one is not None and other:
            found[seed] = saving(one, other)
    return found


def _alike_in_share(variant: VariantResult) -> str:
    """Return the setting without the number of categories, but with the share of them that a peer chooses."""
    share = variant.get(_CHOSEN) / variant.get(_CATEGORIES)
    return _alike(_CHOSEN, _CATEGORIES)(variant) + f"{share:g}"


def _is_skewed(variant: VariantResult) -> bool:
    return bool(variant.get(f"{_RATES}.kind") == "power-law")


def _with_skewed_rates(variants: Variants) -> list[VariantResult]:
    return [pair.ours for pair in _pairs(variants) if _is_skewed(pair.ours)]


def _with_several_sizes(variants: Variants) -> list[Pair]:
    curves = _curves(variants, lambda v: float(v.get(_PER_PEER)), _alike(_PER_PEER))
    return [pair for curve in curves for pair in curve]


def _with_most_topics(variants: Variants) -> list[Pair]:
    found = sorted(_pairs(variants), key=lambda pair: (pair.ours.get(_PER_PEER), pair.ours.get("peers")))
    return found[-1:]


def _of_figure_7(variants: Variants) -> list[VariantResult]:
    setting = {_HOMOPHILY: 2, _INITIAL: 0.1, _PER_PEER: 16}
    ours = [pair.ours for pair in _pairs(variants)]
    return [v for v in ours if all(v.get(key) == value for key, value in setting.items())]


def _turned(variants: Variants) -> list[Pair]:
    return [Pair(pair.name, pair.theirs, pair.ours) for pair in _pairs(variants)]


def _with_paper_samples(variants: Variants) -> list[Pair]:
    return [pair for pair in _pairs(variants) if pair.ours.get(_SAMPLES) == _PAPER_SAMPLES]


def _more_samples(variants: Variants) -> Found:
    enough = [pair for pair in _pairs(variants) if pair.ours.get(_SAMPLES) >= _PAPER_SAMPLES]
    return _by(_SAMPLES, "highest")(members(enough))


def _fewer_samples(variants: Variants) -> Found:
    few = [pair for pair in _pairs(variants) if pair.ours.get(_SAMPLES) <= _PAPER_SAMPLES]
    return _by(_SAMPLES, "highest")(members(few))


_saved = of_pair(_pairs, _RELAYS, saving)

MAGNET = (
    Claim(
        "M1",
        "Relays are saved, more with more correlation and with skewed rates; popular topics are almost free "
        "of them.",
        _of("multi-modal"),
        "pairs of Magnet and strawman with MULTI-MODAL interests",
        {**_MULTI_MODAL, _SAMPLES: _PAPER_SAMPLES, _CHOSEN: Sweep(1, 5), _CATEGORIES: Sweep(5, 50)},
        (
            Number("relays saved", between(0.2, 0.8, "share", better="higher"), _saved),
            Number(
                "saved with the fewest categories a peer, more than with the most of the same share",
                above(0, "share"),
                _gained(lambda v: -float(v.get(_CHOSEN)), _alike_in_share),
            ),
            Number(
                "saved with rates by a power law, more than with uniform ones",
                above(0, "share"),
                _gained(_is_skewed, _alike(_RATES)),
            ),
            Number(
                'overhead of the 100 most popular topics with rates by a power law ("almost no")',
                about(0, "share"),
                OfSome(_with_skewed_rates, each("overhead_popular")),
            ),
        ),
    ),
    Claim(
        "M2",
        "With 18 topics a peer more is saved the more skewed their popularity is, and some with all sizes of "
        "subscriptions (figure 4).",
        _of("multi-modal"),
        "pairs of Magnet and strawman with MULTI-MODAL interests",
        {
            "peers": 5000,
            **_RING,
            _SAMPLES: _PAPER_SAMPLES,
            _TOPICS: 1000,
            _CHOSEN: 1,
            _CATEGORIES: 5,
            f"{_RATES}.alpha": AnyOf((0.75, None)),
        },
        (
            *_grows(_ALPHA, "alpha", lambda variant: bool(variant.get(_PER_PEER) == _SIZE_OF_FIGURE_4)),
            Number(
                "relays saved with each of several sizes",
                above(0, "share"),
                of_pair(_with_several_sizes, _RELAYS, saving),
            ),
        ),
    ),
    Claim(
        "M3",
        "With SPATIAL interests more is saved the more topics a peer has.",
        _of("spatial"),
        "pairs of Magnet and strawman with SPATIAL interests",
        {**_DEFAULT, _PER_PEER: Sweep(8, 32)},
        (
            Number(
                "relays saved with the most topics",
                about(0.8, "share", better="higher"),
                of_pair(_with_most_topics, _RELAYS, saving),
            ),
            *_grows(_PER_PEER, "t"),
        ),
    ),
    Claim(
        "M4",
        "With a hierarchy of topics more is saved with a high lambda, a low initFrac and a low Z.",
        _of("hierarchical-topics"),
        "pairs of Magnet and strawman with HIERARCHICAL-TOPICS",
        {
            **_DEFAULT,
            "peers": 2**14,
            "workload.subscriptions.height": 14,
            _ALPHA: 2,
            _PER_PEER: AnyOf((8, 16)),
        },
        (
            Number(
                "exponent of the popularity of topics with lambda 2, initFrac 10 % and Z 16",
                about(1.68, ""),
                OfSome(_of_figure_7, each("popularity_exponent")),
            ),
            Number("relays saved", between(0.2, 0.6, "share", better="higher"), _saved),
            Number(
                "saved with the highest lambda, more than with the lowest",
                above(0, "share"),
                _by(_HOMOPHILY, "highest"),
            ),
            Number(
                "saved with the lowest initFrac, more than with the highest",
                above(0, "share"),
                _by(_INITIAL, "lowest"),
            ),
            Number(
                "saved with the lowest Z, more than with the highest",
                above(0, "share"),
                _by(_PER_PEER, "lowest"),
            ),
        ),
    ),
    Claim(
        "M5",
        "With the interests of an encyclopedia's editors the strawman has more relays.",
        _of("editors", "editors-file"),
        "pair of Magnet and strawman with editors",
        # Only the paper's own trace has its 3,000 articles of nearly 10,000 editors: with any other file, and
        # with drawn editors, the claim is judged in another setting.
        {**_DEFAULT, _LINKS: 10, _KIND: "editors-file", "workload.subscriptions.articles": 3000},
        (
            Number(
                "relays of the strawman, to Magnet's",
                about(1.77, "times", better="higher"),
                of_pair(_turned, _RELAYS, ratio),
            ),
        ),
    ),
    Claim(
        "M6",
        "With uncorrelated interests Magnet is never worse than the strawman.",
        _of("random"),
        "pair of Magnet and strawman with random interests",
        {**_DEFAULT, _TOPICS: 1000, _PER_PEER: 50},
        (Number("relays saved", at_least(0, "share"), _saved),),
    ),
    Claim(
        "M7",
        "Few samples of each topic suffice: ten.",
        _of("multi-modal"),
        "pairs of Magnet and strawman with MULTI-MODAL interests",
        _MULTI_MODAL,
        (
            Number(
                "relays saved with ten samples",
                between(0.2, 0.8, "share", better="higher"),
                of_pair(_with_paper_samples, _RELAYS, saving),
            ),
            Number("saved with the most samples, more than with ten", about(0, "share"), _more_samples),
            Number(
                'saved with ten samples, more than with the fewest ("very small", section 3.4)',
                about(0, "share"),
                _fewer_samples,
            ),
        ),
    ),
)
