"""What the papers claim, and whether a run bears it out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from analysis.claims.claim import Variants, Verdict, judge_claim
from analysis.claims.kyra import KYRA
from analysis.claims.li import LI
from analysis.claims.magnet import MAGNET
from analysis.claims.pastry import PASTRY
from analysis.claims.quasar import QUASAR
from analysis.claims.twitter import TWITTER
from analysis.claims.vitis import VITIS

CLAIMS = {claim.id: claim for claim in VITIS + TWITTER + LI + PASTRY + MAGNET + KYRA + QUASAR}


def judge(ids: Sequence[str], variants: Variants, invalid: Collection[str] = ()) -> list[Verdict]:
    """A verdict for each of these claims, in this order; `invalid` names variants with an invalid trial."""
    return [_judge(name, variants, frozenset(invalid)) for name in ids]


def _judge(name: str, variants: Variants, invalid: frozenset[str]) -> Verdict:
    if claim := CLAIMS.get(name):
        return judge_claim(claim, variants, invalid)
    why = f"no such claim is known; known: {', '.join(CLAIMS)}"
    return Verdict(name, "", "not decided", [], why, [])
