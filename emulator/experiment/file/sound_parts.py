"""The parts of an experiment that can be checked though others are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from emulator.experiment.file.explain import validate
from emulator.experiment.file.spec import TrialSpec

_NEEDED = frozenset(("peers", "phases"))
"""The parts that all checks of combinations depend on."""
_IN_THEIR_PLACE: dict[str, Any] = {"system": {"name": "none"}, "workload": {"lookups": {"rate": 1.0}}}
"""Stands for a wrong part that may not be left out; nothing is told of it."""


def without_parts(values: Mapping[str, Any], broken: AbstractSet[str | int]) -> TrialSpec | None:
    """Return the spec with defaults in place of the wrong parts; None if the rest cannot be checked."""
    if broken & _NEEDED:
        return None
    sound = {key: value for key, value in values.items() if key not in broken}
    sound |= {key: value for key, value in _IN_THEIR_PLACE.items() if key in broken or key not in values}
    return validate(TrialSpec, sound)[0]
