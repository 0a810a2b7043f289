"""Pairs of variants that are compared with each other: they are the same except for one thing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from analysis.claims.claim import Pair, Variants, of_system
from analysis.measures.variant_results import VariantResult


def pairs_by_value(
    variants: Variants, key: str, ours: Callable[[Any], bool], theirs: Callable[[Any], bool]
) -> list[Pair]:
    """Return the variants that are the same except for the value at a dotted key."""
    others = {_without(v, key): v for v in variants if theirs(v.get(key))}
    return [
        Pair(v.name, v, others[rest])
        for v in variants
        if ours(v.get(key)) and (rest := _without(v, key)) in others
    ]


def pairs_by_system(variants: Variants, ours: str, theirs: str, same: tuple[str, ...] = ()) -> list[Pair]:
    """Return the variants that are the same except for the system.

    Of its parameters, those at the keys `same` are equal.
    """

    def rest(variant: VariantResult) -> str:
        return _without(variant, "system") + repr([variant.get(key) for key in same])

    others = {rest(v): v for v in of_system(variants, theirs)}
    return [Pair(v.name, v, others[rest(v)]) for v in of_system(variants, ours) if rest(v) in others]


def _without(variant: VariantResult, key: str) -> str:
    """Return the setting without the value at a dotted key and the seed."""
    setting = json.loads(json.dumps(variant.setting))
    setting.pop("seed", None)
    *above, last = key.split(".")
    here = setting
    for part in above:
        here = here.get(part, {})
    here.pop(last, None)
    return json.dumps(setting, sort_keys=True)
