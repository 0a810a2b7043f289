"""The `vary:` part of an experiment file: which keys can be varied, and with what."""

from __future__ import annotations

import json
from typing import Any

from emulator.experiment.document import Document, Problem
from emulator.experiment.keys import fields, suggestion, types_at
from emulator.experiment.spec import ExperimentSpec, TrialSpec
from emulator.experiment.variants import MAX_TRIALS, count_variants


def usable_vary(document: Document) -> tuple[dict[str, list[Any]], list[Problem]]:
    """The keys that can be varied with their values, and what is wrong with the others."""
    given = document.values.get("vary")
    if not isinstance(given, dict):
        return {}, []  # told by the model
    usable: dict[str, list[Any]] = {}
    problems: list[Problem] = []
    for name, choices in given.items():
        if not isinstance(choices, list):
            continue
        texts = _wrong_key(name, [other for other in given if other != name]) or _wrong_choices(choices)
        problems += [document.problem(("vary", name), text) for text in texts]
        if not texts:
            usable[name] = choices
    repeat = document.values.get("repeat", 1)
    count = count_variants(usable) * (repeat if isinstance(repeat, int) and repeat > 0 else 1)
    if count > MAX_TRIALS:
        text = f"makes {count} trials, but at most {MAX_TRIALS} are allowed. Vary fewer keys at once"
        problems.append(document.problem(("vary",), text))
        usable = {name: choices[:1] for name, choices in usable.items()}
    return usable, problems


def _wrong_key(name: str, others: list[str]) -> list[str]:
    parts = tuple(name.split("."))
    if parts[0] == "seed" or (
        parts[0] in ExperimentSpec.model_fields and parts[0] not in TrialSpec.model_fields
    ):
        return ['cannot be varied. For more seeds, write "repeat: 5"']
    if inside := [other for other in others if name.startswith(f"{other}.")]:
        return [f'is a part of "{inside[0]}", which is varied too. Vary one of them']
    for length, part in enumerate(parts):
        above = parts[:length]
        if above == ("system", "parameters"):
            return []
        known = fields(types_at(TrialSpec, above))
        if part not in known:
            return [f"there is no such key. {suggestion(part, known)}"]
    return []


def _wrong_choices(choices: list[Any]) -> list[str]:
    if not choices:
        return ["has no values. List at least one"]
    texts = [json.dumps(choice, sort_keys=True) for choice in choices]
    twice = next((text for i, text in enumerate(texts) if text in texts[:i]), None)
    return [f"has the value {twice} twice. Keep one"] if twice is not None else []
