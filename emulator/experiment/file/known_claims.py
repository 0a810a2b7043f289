"""The claims of papers that an experiment can name; `analysis.claims` judges them."""

from __future__ import annotations

KNOWN_CLAIMS = (
    *("V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9", "V10"),
    *("L1", "L2", "L3", "L4", "L5", "L6", "L7"),
    *("P1", "P2", "P3"),
    *("M1", "M2", "M3", "M4", "M5", "M6", "M7"),
    *("K1", "K2"),
    *("Q1", "Q2", "Q3", "Q4", "Q5"),
)
