"""Proofs of which start of a program lives, without telling its start token."""

from __future__ import annotations

import hashlib
import hmac


def digest(start: str) -> bytes:
    """Return a digest of a start token, by which others can check a proof without having the token."""
    return hashlib.sha256(start.encode()).digest()


def prove(kept: bytes, question: bytes) -> bytes:
    """Return the answer to a question that only this start, or a program with its digest, can give."""
    return hmac.digest(kept, question, "sha256")
