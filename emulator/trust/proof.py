"""How a program proves which start of it lives, without telling its start token."""

from __future__ import annotations

import hashlib
import hmac


def digest(start: str) -> bytes:
    """What may be kept of a start token: it proves whoever has the token, and is none."""
    return hashlib.sha256(start.encode()).digest()


def prove(kept: bytes, question: bytes) -> bytes:
    """The answer to a question that only this start, and who keeps its digest, can give."""
    return hmac.digest(kept, question, "sha256")
