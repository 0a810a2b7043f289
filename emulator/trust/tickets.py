"""Tickets to the Collector: a host with one may send its own telemetry of one trial, and nothing else.

The coordinator writes the tickets and the gate before the Collector reads them; both know a key that hosts do
not know.
"""

from __future__ import annotations

import hmac

_SEPARATOR = "\n"


def write_ticket(key: str, trial: str, host: str) -> str:
    """Return the ticket of a host for a trial: ASCII letters, digits and dots.

    Names must have no line break.
    """
    sealed = _SEPARATOR.join((trial, host))
    return f"{sealed.encode().hex()}.{_seal(key, sealed)}"


def read_ticket(key: str, ticket: str) -> tuple[str, str] | None:
    """Return the (trial, host) that the ticket is for; None if it was not written with this key."""
    told, _, seal = ticket.partition(".")
    try:
        sealed = bytes.fromhex(told).decode()
        trial, host = sealed.split(_SEPARATOR)
    except ValueError:
        return None
    right = hmac.compare_digest(seal.encode(), _seal(key, sealed).encode())
    return (trial, host) if right else None


def _seal(key: str, sealed: str) -> str:
    return hmac.digest(key.encode(), sealed.encode(), "sha256").hex()
