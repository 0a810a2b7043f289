"""The drawing of zones by the first leader: once cliques have formed, and again when zones no longer fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from emulator.contract.protocol import Environment
from emulator.protocols.overlays.cliques.overlay import Cliques
from emulator.protocols.pubsub.content.space import EventSpace, Values
from emulator.protocols.pubsub.content.zones import draw_zones, imbalance
from emulator.protocols.pubsub.kyra.epoch import STEP, Epoch
from emulator.protocols.pubsub.kyra.parameters import KyraParameters

SAMPLES: Final = 4096
"""The most events that are kept to judge zones by, the latest ones."""
_PER_ZONE: Final = 10
"""The events a zone that a judgement of the balance needs."""
_CHANCE: Final = 3.0
"""The standard deviations of a zone's number of events that are put down to chance."""
_QUIET: Final = 20.0
"""Cliques count as formed after this many seconds without a change of any clique. Meanwhile a leader asks a
peer that the bootstrap service names, so that a leader that knows few of many cliques learns of the others.
"""


class Drawing:
    """The decision of one server when to draw zones, which counts while it is the first leader."""

    def __init__(
        self,
        environment: Environment,
        parameters: KyraParameters,
        space: EventSpace,
        cliques: Cliques,
        newest: Callable[[], Epoch | None],
    ) -> None:
        """`newest()` returns the epoch that was drawn last."""
        self._environment = environment
        self._parameters = parameters
        self._space = space
        self._cliques = cliques
        self._newest = newest
        self._judged: list[Values] = []
        self._changed = environment.now

    def note_change(self) -> None:
        """Note that a clique has changed."""
        self._changed = self._environment.now

    def judge(self, seen: Sequence[Values]) -> Epoch | None:
        """Return the next epoch if it is time for one. `seen` are the events since the last call."""
        self._judged = [*self._judged, *seen][-SAMPLES:]
        now, newest = self._environment.now, self._newest()
        if newest is None:
            formed = now >= self._parameters.formation or now - self._changed > _QUIET
            return self._draw(0) if formed else None
        if self._has_grown(newest):
            return self._draw(newest.number)
        if now > newest.begins + self._parameters.notice and self._is_off_balance(newest):
            drawn = self._draw(newest.number)
            self._judged = []
            return drawn
        return None

    def _has_grown(self, newest: Epoch) -> bool:
        """Return whether cliques have grown so much that some of their members would have no zone."""
        return self._parameters.trees is None and self._largest > self._parameters.balance * len(newest.zones)

    def _is_off_balance(self, newest: Epoch) -> bool:
        """Return whether one zone's load is farther above the mean than chance explains."""
        if len(self._judged) < _PER_ZONE * len(newest.zones):
            return False
        mean = len(self._judged) / len(newest.zones)
        fullest = imbalance(newest.zones, self._judged) * mean
        chance: float = _CHANCE * fullest**0.5
        return fullest - chance > self._parameters.balance * mean

    @property
    def _largest(self) -> int:
        """The number of members of the largest clique that is known."""
        records = self._cliques.directory.records.values()
        return max((len(record.members) for record in records), default=1)

    def _draw(self, last: int) -> Epoch:
        """Draw the zones of the epoch that follows the one with the number `last`."""
        largest = self._largest
        trees = self._parameters.trees or largest
        parts = -(-largest // trees)
        zones = draw_zones(self._space, trees * parts, self._judged)
        number = (last // STEP + 1) * STEP + self._environment.peer % STEP
        return Epoch(number, self._environment.now + self._parameters.notice, parts, zones)
