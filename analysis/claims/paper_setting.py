"""The settings of papers, and where the variants of a run differ from them: peers, network, workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.measures.variant_results import VariantResult

Setting = Mapping[str, Any]
"""The dotted keys of the experiment with the paper's values: a plain value, `AnyOf` or `Sweep`.

A setting that no experiment can have is a sentence, such as "distances in a plane".
"""


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Several values that the paper has, or that mean the same."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """The paper varies the value from `low` to `high`."""

    low: float
    high: float


def differences(setting: Setting, variants: Sequence[VariantResult]) -> list[str]:
    """Return a sentence for each key at which the variants are not as the paper's."""
    return list(_differences(setting, variants))


def _differences(setting: Setting, variants: Sequence[VariantResult]) -> Iterator[str]:
    for key, paper in setting.items():
        found = list({repr(v.get(key)): v.get(key) for v in variants}.values())
        match paper:
            case Sweep(low, high):
                numbers = sorted(value for value in found if isinstance(value, int | float))
                same = bool(numbers) and (numbers[0], numbers[-1]) == (low, high)
                printed = f"{low:,} to {high:,}"
            case AnyOf(values):
                same = all(value in values for value in found)
                printed = " or ".join(_shown(value) for value in values if value is not None)
            case _:
                same = found == [paper]
                printed = _shown(paper)
        if not same:
            yield f"{key} is {', '.join(map(_shown, found))}, the paper's {printed}"


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else "another list" if isinstance(value, list) else str(value)
