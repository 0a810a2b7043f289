"""This module pairs the variants of a run that differ in nothing but what they are compared by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analysis.charts.results import Results, ResultsError, key_label, value_label, values_label, varied_keys
from analysis.report.by_what_is_varied import SYSTEM, independent_keys
from emulator.experiment.file.variants import keys_of

_PARAMETERS: Final = "system.parameters"
_Variant = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Counterparts:
    """Two variants, with the names of what they are compared by and the setting that both have."""

    base: _Variant
    other: _Variant
    names: tuple[str, str]
    setting: str


def counterparts(results: Results, key: str, base: str | None = None) -> list[Counterparts]:
    """Return each variant beside the one with the first value of a key, or with `base`, in the same setting.

    The setting is the values of the other varied keys. Keys that are varied together with the key do not
    belong to it where a variant has no counterpart otherwise, nor do the parameters of another system.

    Raises ResultsError if the key is not varied, or does not have the value `base`.
    """
    varied = varied_keys(results.variants)
    if key not in varied:
        known = ", ".join(varied) if varied else "nothing"
        raise ResultsError(f"{key} is not varied in {results.run.path}. What is varied: {known}")
    return list(_Sides(results, key, base).pairs())


def without_counterpart(results: Results, paired: Sequence[tuple[str, str]]) -> list[str]:
    """Return the labels of the variants that are in none of these pairs of names."""
    found = {name for pair in paired for name in pair}
    return [results.labels[each["variant"]] for each in results.variants if each["variant"] not in found]


class _Sides:
    """The variants of a run on both sides of a comparison by a key.

    `_others` are the varied keys that a pair has in common, `_with_key` those of them that go with the key
    where a variant has no counterpart otherwise, and `_rest` the remaining ones. `_told` are the keys of a
    setting.
    """

    def __init__(self, results: Results, key: str, base: str | None) -> None:
        self._variants = results.variants
        self._key = key
        varied = varied_keys(results.variants)
        self._together = _together(results.experiment, key, varied)
        others = [other for other in varied if other != key]
        self._others = independent_keys(results.variants, [key, *others])[1:]
        with_key = {*self._together, *(k for k in others if key == SYSTEM and k.startswith(_PARAMETERS))}
        named = () if key == SYSTEM else self._together
        apart = [k for k in others if independent_keys(results.variants, [key, k])[1:]]
        self._told = [k for k in apart if k not in named]
        self._rest = [k for k in self._others if k not in with_key]
        self._with_key = [key, *(k for k in self._others if k in with_key)]
        names = [{_label(key, variant), self._name(variant)} for variant in self._variants]
        if base is not None and not any(base in each for each in names):
            known = dict.fromkeys(self._name(variant) for variant in self._variants)
            raise ResultsError(f"no variant has {base} at {key}. There are: {', '.join(known)}")
        first = _label(key, self._variants[0]) if base is None else base
        self._is_base = [first in each for each in names]

    def pairs(self) -> Iterator[Counterparts]:
        """Yield the pairs in the order of the variants."""
        found = [
            (i, j)
            for i, one in enumerate(self._variants)
            for j, two in enumerate(self._variants)
            if self._is_base[i] and not self._is_base[j] and _same(one, two, self._others)
        ]
        lone = set(range(len(self._variants))) - {i for pair in found for i in pair}
        start = self._is_base.index(True)
        bases = [
            i
            for i, one in enumerate(self._variants)
            if self._is_base[i] and _same(one, self._variants[start], self._with_key)
        ]
        more = [
            (i, j)
            for i in bases
            for j in sorted(lone)
            if (not self._is_base[j] or self._key != SYSTEM)
            and j not in bases
            and _same(self._variants[i], self._variants[j], self._rest)
        ]
        for i, j in sorted(found + more):
            yield self._pair(self._variants[i], self._variants[j], (i, j) in more)

    def _pair(self, base: _Variant, other: _Variant, is_looser: bool) -> Counterparts:
        names = self._name(base), self._name(other)
        if is_looser and self._key == SYSTEM:
            names = (
                values_label(base["values"], self._with_key), values_label(other["values"], self._with_key)
            )  # fmt: skip
        told = [k for k in self._told if not (is_looser and k in self._with_key)]
        setting = values_label(base["values"], told) if told else ""
        return Counterparts(base, other, names, setting)

    def _name(self, variant: _Variant) -> str:
        if self._key == SYSTEM or len(self._together) == 1:
            return _label(self._key, variant)
        return values_label(variant["values"], self._together)


def _together(experiment: Mapping[str, Any], key: str, varied: Sequence[str]) -> list[str]:
    """Return the keys that are varied together with a key, with it."""
    entries = (keys_of(entry) for entry in experiment.get("vary") or {})
    found = next((keys for keys in entries if key in keys), (key,))
    return [each for each in found if each in varied]


def _same(one: _Variant, two: _Variant, keys: Sequence[str]) -> bool:
    return all(one["values"].get(key) == two["values"].get(key) for key in keys)


def _label(key: str, variant: _Variant) -> str:
    value = variant["values"].get(key)
    text = value if isinstance(value, str) else value_label(key, value).removeprefix(f"{key_label(key)} ")
    return text or "defaults"
