"""Breaches: what a protocol did against its contract in a trial that is checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from emulator.experiment.run.fidelity import Check

CHECKED: Final = "TRELLIS_CHECK"
"""The environment variable that, unless it is empty, has all trials on the virtual clock checked."""
_NAMED = 10


def checks_asked_for() -> bool:
    """Return whether the environment asks for checks, as the tests of this project do."""
    return bool(os.environ.get(CHECKED))


class Breaches:
    """Breaches of the contract, counted by kind."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def note(self, what: str, where: str) -> None:
        """Count one breach. `where` names peers and time; it is kept for the first breach of a kind."""
        self.counts[what] = self.counts.get(what, 0) + 1
        self._first.setdefault(what, where)

    def told(self) -> dict[str, int]:
        """Return how often each kind of breach occurred, with the first place."""
        return {f"{what}, first {self._first[what]}": count for what, count in self.counts.items()}


def contract_check(told: Mapping[str, int]) -> Check:
    """Return the check that fails if the contract was broken at all."""
    named = [f"{what} ({count} times)" if count > 1 else what for what, count in sorted(told.items())]
    if len(named) > _NAMED:
        named[_NAMED:] = [f"and {len(named) - _NAMED} more"]
    return Check("contract of a protocol broken", sum(told.values()), 0, "times", "; ".join(named))
