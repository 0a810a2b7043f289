"""Makes a trial smaller as long as it stays as it is not expected to be (Zeller, Hildebrandt: Simplifying and
Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from emulator.files.quantities import format_duration, parse_duration

Values = dict[str, Any]
"""The plain values of a trial's keys."""
_LEFT_OUT: tuple[tuple[str, Any], ...] = (
    ("attackers", None),
    ("processing", None),
    ("churn.flash_crowd", None),
    ("churn.crash", None),
    ("churn.model", {"kind": "static"}),
    ("network.loss", 0.0),
    ("network.jitter", "0 s"),
    ("network.bandwidth", None),
    ("network.overhead", 0),
    ("network.order", "any"),
)
"""The keys that may be left out, with the value that stands for that."""
_ASKED = (
    "workload.publications.events",
    "workload.lookups.rate",
    "workload.broadcast.rate",
    "workload.values.count",
    "workload.values.gets",
    "workload.values.updates",
)
"""The keys of how much peers are asked for."""
_SEEDS = 3
"""The seeds with which each step is tried."""
_FEWEST_PEERS = 2
_SHORTEST = 1.0
"""The shortest phase and fault (s) that is tried."""


def smaller(values: Values) -> Iterator[tuple[str, Values]]:
    """Yield what may be tried, with a word for it, the largest steps first.

    That is one fault less, a part of the experiment left out, half of the peers, a tenth of them less or one
    less, and half of the attackers, of a group that a fault is between, of what peers are asked for, of a
    fault's time and of a phase.
    """
    for index, fault in enumerate(values.get("faults") or []):
        fewer = copy.deepcopy(values)
        del fewer["faults"][index]
        yield f"without the fault {fault.get('name', index)}", fewer
    for key, value in _LEFT_OUT:
        if _at(values, key) not in (None, value):
            yield f"without {key}", _with(values, key, value)
    peers = values["peers"]
    for part in (0.5, 0.9):
        if round(peers * part) >= _FEWEST_PEERS and round(peers * part) < peers:
            yield f"{round(peers * part)} peers", _with(values, "peers", round(peers * part))
    if peers > _FEWEST_PEERS:
        yield f"{peers - 1} peers", _with(values, "peers", peers - 1)
    if (half := _half_of_group(values.get("attackers"), peers)) is not None:
        yield f"attackers.{half[0]} {half[1]:g}", _with(values, f"attackers.{half[0]}", half[1])
    yield from _smaller_sides(values)
    for key in _ASKED:
        count = _at(values, key)
        if isinstance(count, (int, float)) and count > 1:
            fewer_asked = count // 2 if isinstance(count, int) else count / 2
            yield f"{key} {fewer_asked:g}", _with(values, key, fewer_asked)
    for index, fault in enumerate(values.get("faults") or []):
        if (shorter := _half_of(fault.get("for"))) is not None:
            changed = copy.deepcopy(values)
            changed["faults"][index]["for"] = shorter
            yield f"the fault {fault.get('name', index)} for {shorter}", changed
    for phase in ("measure", "settle", "join", "drain"):
        if (shorter := _half_of(values["phases"][phase])) is not None:
            yield f"{phase} {shorter}", _with(values, f"phases.{phase}", shorter)


def _half_of_group(group: Any, peers: int) -> tuple[str, float] | None:
    """Return the key and half of the value of a group that has so many peers, if one is left then."""
    if not isinstance(group, dict):
        return None
    number, share = group.get("number"), group.get("share")
    if number is not None and number > 1:
        return "number", number // 2
    if share is not None and 1 <= round(peers * share / 2) < round(peers * share):
        return "share", share / 2
    return None


def _smaller_sides(values: Values) -> Iterator[tuple[str, Values]]:
    """Yield half of each of two groups between which a fault holds."""
    for index, fault in enumerate(values.get("faults") or []):
        for side, group in enumerate(_at(fault, "links.between") or []):
            if (half := _half_of_group(group, values["peers"])) is not None:
                changed = copy.deepcopy(values)
                changed["faults"][index]["links"]["between"][side][half[0]] = half[1]
                word = f"the fault {fault.get('name', index)} between {half[0]} {half[1]:g}"
                yield word, changed


def _half_of(duration: str | None) -> str | None:
    """Return half of a duration, or None if there is none or half of it is too short."""
    lasts = 0.0 if duration is None else parse_duration(duration) / 2
    return format_duration(round(lasts, 1)) if lasts >= _SHORTEST else None


def shrink(
    values: Values, fails: Callable[[Values], bool], budget: int, tell: Callable[[str], None]
) -> Values:
    """Return values of which nothing more can be left out, by at most `budget` calls of `fails`.

    `fails` says whether a trial with these values still is not as expected, and `tell` gets a word for each
    step that was taken.
    """
    tried = 0
    found = True
    while found:
        found = False
        for word, candidate in _with_seeds(values):
            if tried == budget:
                return values
            tried += 1
            if fails(candidate):
                tell(word)
                values, found = candidate, True
                break
    return values


def _with_seeds(values: Values) -> Iterator[tuple[str, Values]]:
    """Yield what may be tried, each with a few seeds: a smaller trial has other draws than a larger one."""
    for word, candidate in smaller(values):
        for later in range(_SEEDS):
            yield word, candidate | {"seed": candidate.get("seed", 1) + later}


def _at(values: Values, key: str) -> Any:
    here: Any = values
    for part in key.split("."):
        here = here.get(part) if isinstance(here, dict) else None
    return here


def _with(values: Values, key: str, value: Any) -> Values:
    changed = copy.deepcopy(values)
    *above, last = key.split(".")
    here = changed
    for part in above:
        here = here[part]
    here[last] = value
    return changed
