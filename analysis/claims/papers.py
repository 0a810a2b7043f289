"""What the papers claim, and whether a run bears it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.claims.evidence import Measured, Variants
from analysis.claims.li import LI
from analysis.claims.pastry import PASTRY
from analysis.claims.quasar import QUASAR
from analysis.claims.twitter import TWITTER
from analysis.claims.vitis import VITIS

CLAIMS = {claim.id: claim for claim in VITIS + TWITTER + QUASAR + LI + PASTRY}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a claim. `measured` maps a label to mean, ci95 and n, as in a variant's measures."""

    id: str
    statement: str
    paper: str
    measured: Measured
    holds: bool | None
    """None if the run cannot tell."""
    why: str


def judge(ids: Sequence[str], variants: Variants) -> list[Verdict]:
    """A verdict for each of these claims, in this order."""
    verdicts = []
    for name in ids:
        claim = CLAIMS.get(name)
        if claim is None:
            verdicts.append(
                Verdict(name, "", "", {}, None, f"no such claim is known; known: {', '.join(CLAIMS)}")
            )
            continue
        found = claim.find(variants)
        verdicts.append(
            Verdict(claim.id, claim.statement, claim.paper, found.measured, found.holds, found.why)
        )
    return verdicts
