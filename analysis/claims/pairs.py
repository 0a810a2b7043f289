"""Vitis beside its baseline: variants that differ in the system alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.claims.evidence import compare, is_static, of_system
from analysis.measures.variants import Estimate, VariantResult

PATTERN = "workload.subscriptions.kind"
TABLE = "system.parameters.routing_table"
FRIENDS = "system.parameters.friends"
ALPHA = "workload.publications.rates.alpha"
_PAPER_TABLE = 15


@dataclass(frozen=True, slots=True)
class Pair:
    """One setting, run by both systems."""

    vitis: VariantResult
    rvr: VariantResult

    @property
    def pattern(self) -> str:
        return str(self.vitis.get(PATTERN))

    def compare(self, measure: str, how: Callable[[float, float], float]) -> Estimate | None:
        """`how(Vitis, RVR)` of a measure, over the seeds that both have."""
        return compare(self.vitis, self.rvr, measure, how)


def pairs(variants: Sequence[VariantResult]) -> list[Pair]:
    """Each variant of Vitis with the one of RVR that has the same setting and size of routing table."""
    baselines = {_key(v): v for v in of_system(variants, "rvr")}
    return [Pair(v, baselines[_key(v)]) for v in of_system(variants, "vitis") if _key(v) in baselines]


def paper_pairs(variants: Sequence[VariantResult]) -> dict[str, Pair]:
    """For each subscription pattern the static pair that is nearest to the paper's default setting.

    That is a routing table of 15 and as many friends as there are (12), with the least skewed rates.
    """
    found: dict[str, Pair] = {}
    for pair in sorted((p for p in pairs(variants) if is_static(p.vitis)), key=_distance):
        found.setdefault(pair.pattern, pair)
    return found


def _distance(pair: Pair) -> tuple[float, float, float]:
    vitis = pair.vitis
    return (abs(vitis.get(TABLE) - _PAPER_TABLE), -vitis.get(FRIENDS), vitis.get(ALPHA) or 0.0)


def _key(variant: VariantResult) -> str:
    rest: dict[str, Any] = {k: v for k, v in variant.setting.items() if k not in ("system", "seed")}
    return repr((variant.get(TABLE), sorted(rest.items())))
