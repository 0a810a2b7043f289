"""The pauses of a release in a queue: the coordinator asks before each trial whether it may begin."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from emulator.fleet.pods.pod_reading import ask, in_cluster, own_namespace
from emulator.fleet.pods.queue_order import OVER, PAUSING, RESTING, STATE, TRIALS

_PAUSE = 5.0

Ask = Callable[[str, dict[str, Any] | None], Mapping[str, Any]]


class TrialPauses:
    """The pauses of a release, as its coordinator knows them; without a queue there are none.

    Trials go on if the API server does not answer, because a release that runs has its place.
    """

    def __init__(
        self,
        entry: str | None = None,
        asked: Ask | None = None,
        sleep: Callable[[float], None] = time.sleep,
        say: Callable[[str], None] = print,
    ) -> None:
        """`entry` is the name of the release's entry in the queue, by default that in TRELLIS_QUEUE_ENTRY."""
        self._entry = entry or (os.environ.get("TRELLIS_QUEUE_ENTRY", "") if in_cluster() else "")
        self._ask = asked or _ask
        self._sleep = sleep
        self._say = say

    def await_turn(self, trial: str) -> None:
        """Return when the trial may begin."""
        rested = False
        while self._entry and self._pausing():
            if not rested:
                self._say(f"paused before {trial}")
            rested = True
            self._mark(RESTING)
            self._sleep(_PAUSE)
        if rested:
            self._mark(None)

    def over(self) -> None:
        """Tell that there will be no further trial."""
        if self._entry:
            self._mark(OVER)

    def _pausing(self) -> bool:
        try:
            lease = self._ask(self._entry, None)
            return bool((lease["metadata"].get("annotations") or {}).get(STATE) == PAUSING)
        except (OSError, ValueError, KeyError) as error:
            self._say(f"the queue does not say whether there is a pause: {error}")
            return False

    def _mark(self, state: str | None) -> None:
        try:
            self._ask(self._entry, {"metadata": {"annotations": {TRIALS: state}}})
        except (OSError, ValueError) as error:
            self._say(f"the queue was not told how the trials are: {error}")


def _ask(entry: str, change: dict[str, Any] | None) -> Mapping[str, Any]:
    path = f"apis/coordination.k8s.io/v1/namespaces/{own_namespace()}/leases/{entry}"
    return ask("PATCH" if change else "GET", path, change)
