"""Counts of what a trial has only if its experiment asks for it, such as links that drop messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from analysis.contract.trials import TrialRecord
from emulator.experiment.file.spec import TrialSpec

COUNTS: Final[Mapping[str, Callable[[TrialSpec], bool]]] = {
    "attacked_messages": lambda spec: spec.attackers is not None,
    "link_drops": lambda spec: spec.network.bandwidth is not None,
    "processing_drops": lambda spec: spec.processing is not None,
}
"""The measures, each with whether a trial asks for what it counts."""


def set_zeros(values: Mapping[str, dict[str, float | None]], records: Iterable[TrialRecord]) -> None:
    """Set the counts of trials that ask for what is counted, and in which there was none, to 0.

    `values` has the measures of each trial. Other trials keep no value, so that no report shows these counts
    where they say nothing.
    """
    for record in records:
        of_trial = values.get(record.name, {})
        for name, asks in COUNTS.items():
            if name in of_trial and of_trial[name] is None and asks(record.spec):
                of_trial[name] = 0.0
