"""Cuts make a trial smaller: they leave a part of it out, halve it or round it, the largest ones first."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import Any, NamedTuple

from emulator.files.quantities import format_duration, parse_duration

Values = dict[str, Any]
"""The plain values of a trial's keys."""
_Path = tuple[str | int, ...]
_LEFT_OUT: dict[str, Any] = {
    "attackers": None,
    "processing": None,
    "churn.flash_crowd": None,
    "churn.crash": None,
    "churn.model": {"kind": "static"},
    "network.loss": 0.0,
    "network.jitter": "0 s",
    "network.bandwidth": None,
    "network.overhead": 0,
    "network.order": "any",
}
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
_HITS = ("partition", "links", "pause", "crash", "clock")
"""The kinds of faults that hit a group of peers."""
_PARTS_OF_LINKS: dict[str, Any] = {
    "delay": "0 s",
    "loss": 0.0,
    "duplicate": 0.0,
    "corrupt": 0.0,
    "bandwidth": None,
}
"""The parts of a fault of links, with the value that stands for leaving one out."""
_FEWEST_PEERS = 2
_SHORTEST = 1.0
"""The shortest phase and fault (s) that is tried."""
_ROUND_DIGITS = 2
"""The digits of a number that is round."""


class Cut(NamedTuple):
    """A smaller trial that may be tried."""

    key: str
    """The name of the step; the same one after other steps were taken."""
    word: str
    """The words that tell of the step."""
    values: Values


def cuts(values: Values, settles_less: bool) -> Iterator[Cut]:
    """Yield what may be tried, the largest cuts first.

    With `settles_less` the phases before the measure phase may be shorter, too.
    """
    yield from _fewer_faults(values)
    yield from _fewer_peers(values, (0.25, 0.5))
    yield from _fewer_asked(values, [key for key in _ASKED if _is_many(_at(values, key))])
    yield from _shorter_phase(values, "measure", (0.5,))
    yield from _left_out(values)
    lasting = [index for index, fault in enumerate(_faults(values)) if _half_of(fault.get("for"))]
    yield from _shorter_faults(values, lasting)
    yield from _fewer_parts_of_links(values)
    yield from _fewer_peers(values, (0.6, 0.7, 0.8, 0.9))
    yield from _one_peer_less(values)
    yield from _smaller_groups(values)
    for key in _ASKED:
        if _is_many(_at(values, key)):
            yield from _fewer_asked(values, [key])
    for index in lasting if len(lasting) > 1 else ():
        yield from _shorter_faults(values, [index])
    yield from _shorter_phase(values, "measure", (0.75, 0.9))
    for phase in ("settle", "join", "drain") if settles_less else ("drain",):
        yield from _shorter_phase(values, phase, (0.5,))
    yield from _rounded(values)


def _faults(values: Values) -> list[dict[str, Any]]:
    return values.get("faults") or []


def _fewer_faults(values: Values) -> Iterator[Cut]:
    """Yield the trial without all faults, without half of them, and without each one."""
    faults = _faults(values)
    names = [str(fault.get("name", index)) for index, fault in enumerate(faults)]
    for size in sorted({len(faults), -(-len(faults) // 2), 1}, reverse=True):
        for first in range(0, len(faults), max(size, 1)):
            gone = names[first : first + size]
            kept = [fault for index, fault in enumerate(faults) if not first <= index < first + size]
            word = f"without the fault{'s' if len(gone) > 1 else ''} {', '.join(gone)}"
            yield Cut(word, word, _with(values, ("faults",), kept))


def _fewer_peers(values: Values, parts: Sequence[float]) -> Iterator[Cut]:
    peers = values["peers"]
    for part in parts:
        fewer = round(peers * part)
        if _FEWEST_PEERS <= fewer < peers - (part > 0.5):
            yield Cut(f"peers {part}", f"{fewer} peers", _with(values, ("peers",), fewer))


def _one_peer_less(values: Values) -> Iterator[Cut]:
    peers = values["peers"]
    if peers > _FEWEST_PEERS:
        yield Cut("one peer", f"{peers - 1} peers", _with(values, ("peers",), peers - 1))


def _is_many(asked: Any) -> bool:
    return isinstance(asked, int | float) and asked > 1


def _fewer_asked(values: Values, keys: Sequence[str]) -> Iterator[Cut]:
    """Yield half of what peers are asked for by these keys."""
    changed, words = values, []
    for key in keys:
        asked = _at(values, key)
        fewer = asked // 2 if isinstance(asked, int) else asked / 2
        changed = _with(changed, tuple(key.split(".")), fewer)
        words.append(f"{key} {fewer:g}")
    if words:
        yield Cut(f"half of {', '.join(keys)}", ", ".join(words), changed)


def _left_out(values: Values) -> Iterator[Cut]:
    """Yield the trial without all parts that may be left out, and without each of them."""
    there = [key for key, nothing in _LEFT_OUT.items() if _at(values, key) not in (None, nothing)]
    for keys in [there, *([key] for key in there)] if len(there) > 1 else [there]:
        changed = values
        for key in keys:
            changed = _with(changed, tuple(key.split(".")), copy.deepcopy(_LEFT_OUT[key]))
        if keys:
            word = f"without {', '.join(keys)}"
            yield Cut(word, word, changed)


def _shorter_faults(values: Values, indices: Sequence[int]) -> Iterator[Cut]:
    """Yield half of the times of these faults."""
    changed, words = values, []
    for index in indices:
        fault = _faults(values)[index]
        shorter = _half_of(fault["for"])
        changed = _with(changed, ("faults", index, "for"), shorter)
        words.append(f"the fault {fault.get('name', index)} for {shorter}")
    if words:
        yield Cut(f"half the time of {indices}", ", ".join(words), changed)


def _shorter_phase(values: Values, phase: str, parts: Sequence[float]) -> Iterator[Cut]:
    for part in parts:
        if (shorter := _part_of(values["phases"][phase], part)) is not None:
            changed = _with(values, ("phases", phase), shorter)
            yield Cut(f"{phase} {part}", f"{phase} {shorter}", changed)


def _fewer_parts_of_links(values: Values) -> Iterator[Cut]:
    """Yield the trial without each part of a fault of links that has several."""
    for index, fault in enumerate(_faults(values)):
        links = fault.get("links") or {}
        there = [part for part, nothing in _PARTS_OF_LINKS.items() if links.get(part) not in (None, nothing)]
        for part in there if len(there) > 1 else ():
            word = f"the fault {fault.get('name', index)} without {part}"
            changed = _with(values, ("faults", index, "links", part), _PARTS_OF_LINKS[part])
            yield Cut(f"{index} without {part}", word, changed)


def _smaller_groups(values: Values) -> Iterator[Cut]:
    """Yield half of the attackers, of the peers that a fault hits, and of each of two groups between which it
    holds."""
    groups: list[tuple[str, _Path, Any]] = [("attackers", ("attackers",), values.get("attackers"))]
    for index, fault in enumerate(_faults(values)):
        name = f"the fault {fault.get('name', index)}"
        groups += [(f"{name} {kind}", ("faults", index, kind), fault.get(kind)) for kind in _HITS]
        for side, group in enumerate(_at(fault, "links.between") or []):
            groups.append((f"{name} between", ("faults", index, "links", "between", side), group))
    for name, path, group in groups:
        if half := _half_of_group(group, values["peers"]):
            changed = _with(values, path, group | {"share": None, "number": half})
            yield Cut(f"half of {path}", f"{name} number {half}", changed)


def _half_of_group(group: Any, peers: int) -> int:
    """Return half of the peers of a group, out of so many; 0 if they are not known by their number or share.

    A share would keep the trial from having fewer peers, because it would hit nobody then.
    """
    if not isinstance(group, dict):
        return 0
    number, share = group.get("number"), group.get("share")
    return int(number or round(peers * (share or 0.0))) // 2


def _half_of(duration: str | None) -> str | None:
    """Return half of a duration, or None if there is none or half of it is too short."""
    return _part_of(duration, 0.5)


def _part_of(duration: str | None, part: float) -> str | None:
    lasts = 0.0 if duration is None else round(parse_duration(duration) * part, 1)
    return format_duration(lasts) if lasts >= _SHORTEST else None


def _rounded(values: Values) -> Iterator[Cut]:
    """Yield the trial with round times and shares: all of them, and each."""
    odd = [(path, value) for path, value in _leaves(values) if _rounder(value, _ROUND_DIGITS) is not None]
    for digits in range(1, _ROUND_DIGITS + 1):
        for some in [odd, *([each] for each in odd)] if len(odd) > 1 else [odd]:
            changed, words = values, []
            for path, value in some:
                rounder = _rounder(value, digits)
                changed = _with(changed, path, rounder)
                words.append(f"{'.'.join(map(str, path))} {rounder}")
            if words:
                key = f"{digits} digits of {[path for path, _ in some]}"
                yield Cut(key, ", ".join(words), changed)


def _leaves(values: Values) -> Iterator[tuple[_Path, Any]]:
    """Yield the values of the parts of an experiment that are drawn with many digits."""
    waiting: list[tuple[_Path, Any]] = [
        ((key,), values.get(key)) for key in ("faults", "attackers", "network")
    ]
    for path, value in waiting:
        if isinstance(value, dict):
            waiting += [((*path, key), below) for key, below in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, index), below) for index, below in enumerate(value)]
        else:
            yield path, value


def _rounder(value: Any, digits: int) -> Any:
    """Return a duration or a share with so many digits, the next one below; None if it is round already.

    Whole seconds are round.
    """
    if isinstance(value, str):
        try:
            exact = Decimal(repr(parse_duration(value)))
        except ValueError:
            return None
        is_round = exact == int(exact)
    elif isinstance(value, float):
        exact, is_round = Decimal(repr(value)), False
    else:
        return None
    if is_round or len(exact.normalize().as_tuple().digits) <= _ROUND_DIGITS:
        return None
    last = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    floor = float((exact / last).to_integral_value(ROUND_FLOOR) * last)
    return format_duration(floor) if isinstance(value, str) else floor


def _at(values: Values, key: str) -> Any:
    here: Any = values
    for part in key.split("."):
        here = here.get(part) if isinstance(here, dict) else None
    return here


def _with(values: Values, path: _Path, value: Any) -> Values:
    changed = copy.deepcopy(values)
    *above, last = path
    here: Any = changed
    for part in above:
        here = here[part]
    here[last] = value
    return changed
