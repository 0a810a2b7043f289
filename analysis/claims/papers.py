"""The claims of all papers, and whether a run bears them out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from analysis.claims.chord import CHORD
from analysis.claims.claim import Claim, Variants, Verdict, judge_claim
from analysis.claims.gossipsub import GOSSIPSUB
from analysis.claims.hyparview import HYPARVIEW
from analysis.claims.kademlia import KADEMLIA
from analysis.claims.kyra import KYRA
from analysis.claims.li import LI
from analysis.claims.magnet import MAGNET
from analysis.claims.pastry import PASTRY
from analysis.claims.plumtree import PLUMTREE
from analysis.claims.quasar import QUASAR
from analysis.claims.swim import SWIM
from analysis.claims.twitter import TWITTER
from analysis.claims.vitis import VITIS
from analysis.contract.packages import loaded
from analysis.contract.trouble import FAILURES, Trouble
from emulator.contract.packages import BadPackage, Offer
from emulator.experiment.file.known_claims import known_claims, offered_claims

_PAPERS = (
    *(VITIS, TWITTER, LI, PASTRY, MAGNET, KYRA, QUASAR, CHORD, KADEMLIA),
    *(HYPARVIEW, PLUMTREE, GOSSIPSUB, SWIM),
)
CLAIMS = {claim.id: claim for claims in _PAPERS for claim in claims}


def judge(ids: Sequence[str], variants: Variants, invalid: Collection[str] = ()) -> list[Verdict]:
    """Return a verdict for each of these claims, in this order; `invalid` names variants with an invalid
    trial."""
    return [_judge(name, variants, frozenset(invalid)) for name in ids]


def _judge(name: str, variants: Variants, invalid: frozenset[str]) -> Verdict:
    if claim := CLAIMS.get(name):
        return judge_claim(claim, variants, invalid)
    if offer := offered_claims().get(name):
        return _judge_offered(offer, variants, invalid)
    why = f"no such claim is known; known: {', '.join(known_claims())}"
    return Verdict(name, "", "not decided", [], why, [])


def _judge_offered(offer: Offer, variants: Variants, invalid: frozenset[str]) -> Verdict:
    """Return the verdict on a package's claim; it is not decided if the claim fails or cannot be loaded."""
    try:
        claim = loaded(offer, Claim)
        if claim.id != offer.name:
            raise offer.refusal(f'its id is "{claim.id}". Use one name')
        return judge_claim(claim, variants, invalid)
    except BadPackage as error:
        return Verdict(offer.name, "", "not decided", [], str(error), [])
    except FAILURES as error:
        trouble = Trouble.of(offer.package, f'the claim "{offer.name}"', error)
        return Verdict(offer.name, claim.statement, "not decided", [], trouble.text, [])
