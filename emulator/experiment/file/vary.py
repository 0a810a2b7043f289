"""The `vary:` part of an experiment file: the keys that can be varied, and their values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from emulator.experiment.file.document import Document, Problem
from emulator.experiment.file.explain import Finding
from emulator.experiment.file.keys import fields, nearest, suggestion, types_at
from emulator.experiment.file.misplaced import anywhere, below
from emulator.experiment.file.spec import ExperimentSpec, TrialSpec
from emulator.experiment.file.variants import MAX_TRIALS, count_variants, keys_of


def usable_vary(document: Document) -> tuple[dict[str, list[Any]], list[Problem]]:
    """Return the keys that can be varied with their values, and what is wrong with the others."""
    given = document.values.get("vary")
    if not isinstance(given, dict):
        return {}, []  # the model tells of this
    usable: dict[str, list[Any]] = {}
    problems: list[Problem] = []
    for name, choices in given.items():
        if not isinstance(choices, list):
            continue
        found: list[Finding] = [((), text) for text in _wrong_keys(name, given)]
        found = found or list(_wrong_choices(name, choices))
        problems += [document.problem(("vary", name, *key), text) for key, text in found]
        if not found:
            usable[name] = choices
    repeat = document.values.get("repeat", 1)
    count = count_variants(usable) * (repeat if isinstance(repeat, int) and repeat > 0 else 1)
    if count > MAX_TRIALS:
        text = f"makes {count} trials, but at most {MAX_TRIALS} are allowed. Vary fewer keys at once"
        problems.append(document.problem(("vary",), text))
        usable = {name: choices[:1] for name, choices in usable.items()}
    return usable, problems


def _wrong_keys(entry: str, entries: Iterable[str]) -> list[str]:
    """Return what is wrong with the keys of an entry, given all the entries."""
    keys = keys_of(entry)
    elsewhere = [key for other in entries if other != entry for key in keys_of(other)]
    found = []
    for position, key in enumerate(keys):
        if key in keys[:position] or key in elsewhere:
            found.append(f'varies "{key}" twice. Keep one')
        elif key == "seed" and len(keys) > 1:
            continue  # each combination of the other keys has the seed that stands beside them
        elif (text := _wrong_key(key, [*keys, *elsewhere])) is not None:
            found.append(text if len(keys) == 1 else f'"{key}": {text}')
    return found


def _wrong_key(name: str, others: list[str]) -> str | None:
    parts = tuple(name.split("."))
    if parts[0] == "seed" or (
        parts[0] in ExperimentSpec.model_fields and parts[0] not in TrialSpec.model_fields
    ):
        return 'cannot be varied. For more seeds, write "repeat: 5"'
    if inside := [other for other in others if name.startswith(f"{other}.")]:
        return f'is a part of "{inside[0]}", which is varied too. Vary one of them'
    for length, part in enumerate(parts):
        above = parts[:length]
        if above == ("system", "parameters"):
            return None
        known = fields(types_at(TrialSpec, above))
        if part.isdigit() and not known:
            listed = ".".join(above)
            return f"is inside of a list. Vary {listed} as a whole, with a list for each value"
        if part not in known:
            near = nearest(part, known)
            if place := below(part, above, TrialSpec) or (near is None and anywhere(part, TrialSpec)):
                return f"there is no such key. {part} belongs to {place}"
            if near is None:
                return f"there is no such key. {suggestion(part, known)}"
            return f'there is no such key. Did you mean "{".".join((*above, near, *parts[length + 1 :]))}"?'
    return None


def _wrong_choices(entry: str, choices: list[Any]) -> Iterator[Finding]:
    """Yield what is wrong with the values of an entry, and where below it."""
    if not choices:
        yield (), "has no values. List at least one"
    counts = Counter(json.dumps(choice, sort_keys=True) for choice in choices)
    twice = next((text for text, count in counts.items() if count > 1), None)
    if twice is not None:
        yield (), f"has the value {twice} twice. Keep one"
    keys = keys_of(entry)
    for i, choice in enumerate(choices if len(keys) > 1 else ()):
        if not isinstance(choice, list) or len(choice) != len(keys):
            yield (i,), f"has to be a list of {len(keys)} values, one for each of {', '.join(keys)}"
