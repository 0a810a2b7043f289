"""Curves: the variants of a run that belong together over a key, such as coverage over the number
of peers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.measures.variant_results import VariantResult


@dataclass(frozen=True, slots=True)
class Curve:
    """At least two values of a key; all else is the same, except for numbers that are determined by
    the key."""

    name: str
    """The name that tells the curve from the others; empty if it is the only one."""
    points: Sequence[VariantResult]
    """The variants in ascending order of the key."""


def curves(variants: Sequence[VariantResult], key: str) -> list[Curve]:
    """Return the curves over a dotted key, in the order of their first variants.

    A number that was varied is determined by the key if it has one value at each value of the key: links that
    grow with the network are a part of the curve, and networks of several degrees are a curve for each
    degree.
    """
    have = [v for v in variants if _is_number(v.get(key))]
    varied = [name for name in _varied(have) if name != key]
    words = [name for name in varied if not all(_is_number(v.get(name)) for v in have)]
    found: dict[str, list[VariantResult]] = {}
    for alike in _grouped(have, words):
        numbers = [name for name in varied if name not in words and not _follows(alike, name, key)]
        for group in _grouped(alike, numbers):
            if len({v.get(key) for v in group}) > 1:
                label = ", ".join(f"{_last(name)} {group[0].get(name)}" for name in [*words, *numbers])
                found[label] = sorted(group, key=lambda v: float(v.get(key)))
    return [Curve(label if len(found) > 1 else "", points) for label, points in found.items()]


def _varied(variants: Sequence[VariantResult]) -> list[str]:
    """Return the dotted keys that differ among what was varied, including those inside of varied parts."""
    names = dict.fromkeys(
        name for v in variants for key, value in v.values.items() for name in _names(key, value)
    )
    return [name for name in names if len({repr(v.get(name)) for v in variants}) > 1]


def _names(key: str, value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield key
        return
    for name, part in value.items():
        yield from _names(f"{key}.{name}", part)


def _grouped(variants: Sequence[VariantResult], keys: Sequence[str]) -> list[list[VariantResult]]:
    groups: dict[str, list[VariantResult]] = {}
    for v in variants:
        groups.setdefault(repr([v.get(key) for key in keys]), []).append(v)
    return list(groups.values())


def _follows(variants: Sequence[VariantResult], name: str, key: str) -> bool:
    return len({(v.get(key), v.get(name)) for v in variants}) == len({v.get(key) for v in variants})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _last(key: str) -> str:
    return key.rpartition(".")[2].replace("_", " ")
