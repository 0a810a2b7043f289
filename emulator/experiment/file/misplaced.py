"""The search for the place of a key that was written too high, too low, or beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel

from emulator.contract.packages import BadPackage
from emulator.experiment.file.document import Key
from emulator.experiment.file.keys import Alternatives, fields, kinds, members_of, models, types_at

_MOST_TOLD: Final = 3
"""The most places that are named."""
_MOST_PLACES: Final = 6
"""A key of more places, such as `kind`, says too little of where it belongs."""
_Place = tuple[Key, Alternatives]
"""A key, and the types that its value may have."""


def below(name: str, above: Key, root: type[BaseModel]) -> str:
    """Return in words which keys below `above` have a key of this name; "" if none or too many do."""
    return _told(name, [((*above, *place), types) for place, types in _places(name, types_at(root, above))])


def beside(name: str, above: Key, root: type[BaseModel]) -> str:
    """Return in words which keys beside the last one of `above` have a key of this name; "" if none or too
    many do."""
    found = _places(name, types_at(root, above[:-1]))
    others = [((*above[:-1], *place), types) for place, types in found if len(place) == 1]
    return _told(name, [(place, types) for place, types in others if place != above])


def anywhere(name: str, root: type[BaseModel]) -> str:
    """Return in words which keys of an experiment have a key of this name; "" if none or too many do."""
    return _told(name, [(place, types) for place, types in _places(name, (root,)) if place])


def is_parameter(key: Key, values: Mapping[str, Any]) -> str:
    """Return the system that has a parameter of this name; "" if the key stands where no one would write
    a parameter, or the system has none of the name."""
    from emulator.contract.registry import SYSTEMS

    system = values.get("system")
    named = system.get("name") if isinstance(system, Mapping) else None
    if key[:-1] not in ((), ("system",)) or not isinstance(named, str) or named not in SYSTEMS:
        return ""
    try:
        parameters = SYSTEMS[named].parameters.model_fields
    except BadPackage:
        return ""  # the check of the system tells of this
    return named if key[-1] in parameters else ""


def _places(name: str, types_: Alternatives) -> Iterator[_Place]:
    """Yield the keys whose mappings have a key of this name. The entries of a list are number 0."""
    waiting: list[tuple[Key, Alternatives, frozenset[type]]] = [((), types_, frozenset())]
    for key, here, seen in waiting:
        known = fields(here)
        if name in known:
            yield key, here
        inside = seen | set(models(here))
        further = [((*key, each), under) for each, under in known.items()]
        if members := members_of(here):
            further.append(((*key, 0), members))
        waiting += [(k, under, inside) for k, under in further if not inside & set(models(under))]


def _told(name: str, places: list[_Place]) -> str:
    """Return the highest of these places in words; an entry of a list is as high as the list."""
    height = [sum(isinstance(part, str) for part in place) for place, _ in places]
    least = min(height, default=0)
    words = [
        _words(place) + _of_kinds(name, types)
        for (place, types), high in zip(places, height, strict=True)
        if high == least
    ]
    if not words or len(words) > _MOST_TOLD or len(places) > _MOST_PLACES:
        return ""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _words(place: Key) -> str:
    """Return a place in words: `churn.model`, or `an entry of faults`."""
    words = ""
    for part in place:
        if part == 0:
            words = f"an entry of {words}"
        else:
            words += f".{part}" if words else str(part)
    return words


def _of_kinds(name: str, types_: Alternatives) -> str:
    """Return the kinds that have a key of this name, where only one or two of several do."""
    having = [kind for model in models(types_) if name in model.model_fields for kind in kinds(model)]
    every = [kind for model in models(types_) for kind in kinds(model)]
    return f" (kind {' or '.join(having)})" if len(having) < min(len(every), 3) and having else ""
