"""Counts what a world notices of a system: breaches of the contract, and messages that it drops."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.run.fidelity import Check

CHECKED: Final = "TRELLIS_CHECK"
"""The environment variable that, unless it is empty, has all trials on the virtual clock checked."""
CHECKED_PEERS: Final = 1000
"""The most peers of a trial in which messages of a package's system are checked unasked."""
_NAMED = 10
_KINDS = 200
"""The most kinds that are told apart."""
_OTHERS = "did other things of this sort"


def checks_asked_for() -> bool:
    """Return whether the environment asks for checks, as the tests of this project do."""
    return bool(os.environ.get(CHECKED))


def is_checked(spec: TrialSpec) -> bool:
    """Return whether messages of a trial are checked: where that is asked for, and in small trials of a
    package's system."""
    of_package = spec.system.name in SYSTEMS and SYSTEMS.package_of(spec.system.name)
    return spec.runtime.check or bool(of_package and spec.peers <= CHECKED_PEERS)


class Occurrences:
    """Counts by kind of what a system did, with the first place of each."""

    def __init__(self, system: str = "") -> None:
        """`system` is whom each kind names."""
        self.counts: dict[str, int] = {}
        self.system = system
        self._first: dict[str, str] = {}

    def note(self, what: str, where: str) -> None:
        """Count something. `where` names peers and time; it is kept for the first of a kind."""
        if what not in self.counts and len(self.counts) >= _KINDS:
            what = _OTHERS
        self.counts[what] = self.counts.get(what, 0) + 1
        self._first.setdefault(what, where)

    def told(self) -> dict[str, int]:
        """Return how often each kind occurred, with the system and the first place."""
        by = f"{self.system} " if self.system else ""
        return {f"{by}{what}, first {self._first[what]}": count for what, count in self.counts.items()}


def in_words(told: Mapping[str, int]) -> list[str]:
    """Return each kind with its count, if it occurred more than once."""
    return [f"{what} ({count} times)" if count > 1 else what for what, count in sorted(told.items())]


def contract_check(told: Mapping[str, int]) -> Check:
    """Return the check that fails if the contract was broken at all."""
    named = in_words(told)
    if len(named) > _NAMED:
        named[_NAMED:] = [f"and {len(named) - _NAMED} more"]
    return Check("contract of a protocol broken", sum(told.values()), 0, "times", "; ".join(named))
