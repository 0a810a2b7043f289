"""The claims that an experiment can name; `analysis.claims` judges them.

A package offers claims of its own in the group `trellis.claims`. The name of the entry point is the claim's
id, so that a file is checked without an import of the code that judges it.
"""

from __future__ import annotations

from emulator.contract.packages import Offer, offers

KNOWN_CLAIMS = (
    *("V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9", "V10"),
    *("L1", "L2", "L3", "L4", "L5", "L6", "L7"),
    *("P1", "P2", "P3"),
    *("M1", "M2", "M3", "M4", "M5", "M6", "M7"),
    *("K1", "K2"),
    *("C1", "C2", "C3"),
    *("X1", "X2", "X3"),
    *("SW1", "SW2", "SW3", "SW4"),
    *("H1", "H2", "H3", "H4"),
    *("E1", "E2", "E3"),
    *("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9"),
    *("Q1", "Q2", "Q3", "Q4", "Q5"),
)
"""The ids of Trellis' own claims."""


def offered_claims() -> dict[str, Offer]:
    """Return the claims of packages, by id. Loading one whose id two packages have raises BadPackage."""
    return offers("claims", KNOWN_CLAIMS)


def known_claims() -> tuple[str, ...]:
    """Return all ids, those of Trellis first."""
    return (*KNOWN_CLAIMS, *offered_claims())
