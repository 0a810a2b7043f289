"""Tickets to the Collector: a host with one may send its own telemetry of one trial while the trial lasts.

The coordinator writes the tickets and the gate before the Collector reads them; both know a key that hosts do
not know. Each release has a key of its own, also if two releases share their Secret.
"""

from __future__ import annotations

import hmac

_SEPARATOR = "\n"


def key_of(secret: str, release: str) -> str:
    """Return the key of a release, whose name tells it from all others that have the secret."""
    return _seal(secret, release)


def write_ticket(key: str, trial: str, host: str, until: int) -> str:
    """Return the ticket of a host for a trial: ASCII letters, digits and dots.

    It holds until the Unix time `until` in seconds. Names must have no line break.
    """
    sealed = _SEPARATOR.join((trial, host, str(until)))
    return f"{sealed.encode().hex()}.{_seal(key, sealed)}"


def read_ticket(key: str, ticket: str, now: float) -> tuple[str, str] | None:
    """Return the (trial, host) that the ticket is for.

    Returns None if it was not written with this key, or holds no more at the Unix time `now` in seconds.
    """
    told, _, seal = ticket.partition(".")
    try:
        sealed = bytes.fromhex(told).decode()
        trial, host, until = sealed.split(_SEPARATOR)
        holds = now <= int(until)
    except ValueError:
        return None
    right = hmac.compare_digest(seal.encode(), _seal(key, sealed).encode())
    return (trial, host) if right and holds else None


def _seal(key: str, sealed: str) -> str:
    return hmac.digest(key.encode(), sealed.encode(), "sha256").hex()
