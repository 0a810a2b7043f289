"""Peers made by hand, for tests of invariants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from emulator.contract.invariants import PeersUp

NOW = 1000.0
"""The time at which these peers are looked at (s of trial time)."""


class Peers(PeersUp):
    """Peers that are up with these components; `down` has the seconds for which others have been down."""

    now = NOW

    def __init__(self, parts: Iterable[tuple[int, Any]], down: Mapping[int, float] | None = None) -> None:
        self._parts = list(parts)
        self._down = down or {}

    def parts(self, kind: type[Any]) -> Iterator[tuple[int, Any]]:
        return iter(self._parts)

    def down_for(self, peer: int) -> float:
        up = any(peer == each for each, _ in self._parts)
        return 0.0 if up else self._down.get(peer, math.inf)
