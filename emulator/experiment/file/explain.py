"""The problems of values, in words that say how to mend them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from emulator.experiment.file.byte_sizes import is_size, whole_bytes
from emulator.experiment.file.document import MOST_OF_A_KIND, Key
from emulator.experiment.file.keys import (
    fields,
    kinds,
    models,
    nearest,
    suggestion,
    takes_percent,
    types_at,
)
from emulator.experiment.file.meant import many_seeds, meant_key, missing_key
from emulator.experiment.file.meant_forms import left_out, meant_form, meant_quantity, varied
from emulator.experiment.file.meant_kinds import meant_kind, whole_kind
from emulator.experiment.file.misplaced import anywhere, below, beside, is_parameter
from emulator.experiment.file.wrong import Wrong, written
from emulator.files.quantities import format_duration
from emulator.network.spec import PLAIN

_Model = TypeVar("_Model", bound=BaseModel)

Finding = tuple[Key, str]
"""A key and what is wrong with it."""

_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "dict": "a mapping of keys to values",
    "model": "a mapping of keys to values",
}
_BOUNDS = {
    "greater_than": ("gt", "has to be above"),
    "greater_than_equal": ("ge", "has to be at least"),
    "less_than": ("lt", "has to be below"),
    "less_than_equal": ("le", "has to be at most"),
}


_LARGEST_SHOWN = 1e15
_PERCENTS = 100
_MISSING = "is missing. Add it"
_KEYS_SHOWN = 8


def validate(model: type[_Model], values: Mapping[str, Any]) -> tuple[_Model | None, list[Finding]]:
    """Return the model of plain values, types taken strictly; or None and all that is wrong with them."""
    try:
        return model.model_validate_json(json.dumps(values), strict=True), []
    except ValidationError as error:
        details = [d for d in error.errors(include_url=False) if d["type"] != "default_factory_not_called"]
        kinds_ = Counter[str]()
        findings = []
        for detail in details:
            kinds_[detail["type"]] += 1
            suggest = kinds_[detail["type"]] <= MOST_OF_A_KIND
            findings.append((_key(detail, values), _text(detail, model, values, suggest)))
        return None, [finding for finding in findings if not _is_misspelt(finding, findings)]


def _is_misspelt(finding: Finding, findings: list[Finding]) -> bool:
    """Return whether a key is missing because it is misspelt beside, which is told already."""
    key, text = finding
    if not text.startswith(_MISSING):
        return False
    meant = f'is not a known key. Did you mean "{key[-1]}"?'
    return any(told == meant and other[:-1] == key[:-1] for other, told in findings)


def _key(error: ErrorDetails, values: Any) -> Key:
    """Return where the error is, without the tags that pydantic adds for a chosen kind."""
    here, tagged = values, False
    key: list[str | int] = []
    for part in error["loc"]:
        if key and isinstance(here, dict) and not tagged and part == here.get("kind"):
            tagged = True  # the tag comes first, also before a key of the same name; the top has none
            continue
        if part in ("[key]", PLAIN) or (isinstance(part, str) and isinstance(here, str | int | float)):
            continue
        key.append(part)
        tagged = False
        inside = (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int)
        )
        here = here[part] if inside else None
    return tuple(key)


def _text(error: ErrorDetails, model: type[BaseModel], values: Any, suggest: bool) -> str:
    what, given = error["type"], _shown(error["input"])
    context = error.get("ctx", {})
    if what == "extra_forbidden":
        return _unknown(_key(error, values), model, values) if suggest else "is not a known key"
    if what == "missing":
        example = missing_key(_key(error, values))
        return f'{_MISSING}, such as "{example}"' if example else _MISSING
    if what == "union_tag_not_found":
        known_kinds = _kinds(model, _key(error, values))
        only = f". Write kind: {known_kinds[0]} beside its keys" if len(known_kinds) == 1 else ""
        return f'"kind" is missing. Known: {", ".join(known_kinds)}{only}'
    if what in ("union_tag_invalid", "literal_error"):
        known = (
            str(context.get("expected_tags") or context["expected"]).replace("'", "").replace(" or ", ", ")
        )
        tag = context.get("tag", error["input"])
        word = tag if isinstance(tag, str) else _shown(tag)
        where = '"kind" ' if what == "union_tag_invalid" else ""
        listed = known.split(", ")
        if (
            suggest
            and where
            and (advice := meant_kind(Wrong(_key(error, values), model, values), tag, listed))
        ):
            return f"{where}is {_shown(tag)}. {advice}"
        return f"{where}is {_shown(tag)}. {suggestion(word, listed)}"
    if what in _BOUNDS:
        name, words = _BOUNDS[what]
        written = _at(values, _key(error, values))
        if isinstance(written, str) and written.rstrip().endswith("%"):
            return f"is {_shown(written)}, but {words} {context[name]:,}"
        if isinstance(written, str):  # the field is a duration
            return f"is {_shown(written)}, but {words} {format_duration(float(context[name]))}"
        return f"is {given}, but {words} {context[name]:,}{_as_share(error, model, values)}"
    if what == "too_short":
        least = context["min_length"]
        return f"is {given}, but has to have at least {least} {'entry' if least == 1 else 'entries'}"
    if what == "too_long" and isinstance(error["input"], list):
        most = context["max_length"]
        return f"is {given}, but may have at most {most} {'entry' if most == 1 else 'entries'}"
    if what == "value_error":
        message = error["msg"].removeprefix("Value error, ")
        advice = meant_quantity(_key(error, values), error["input"], message)
        wrong = Wrong(_key(error, values), model, values)
        if not advice and suggest and (other := left_out(wrong) or varied(wrong)):
            advice = f". {other}"
        return f"is {given}, but {message}{advice}"
    number = error["input"]
    if what.startswith("int_") and isinstance(number, float) and number.is_integer():
        advice = f". Write {number:.0f}" if abs(number) < _LARGEST_SHOWN else ""
        return f"is {given}, but has to be a whole number{advice}"
    if what == "string_pattern_mismatch":
        example = re.sub("[^a-z0-9]+", "-", str(error["input"]).lower()).strip("-")[:40] or "my-experiment"
        return f"is {given}, but has to be small letters, digits and hyphens, such as {example}"
    key = _key(error, values)
    if key == ("seed",) and isinstance(error["input"], list):
        return f"is {given}, but has to be a whole number. {many_seeds()}"
    if what.startswith(("int_", "model_")) and isinstance(number, str | float) and is_size(key):
        return f"is {given}, but has to be a whole number of bytes, such as {whole_bytes(number)}"
    wanted = _WANTED.get(what.partition("_")[0])
    if wanted and what.rpartition("_")[2] in ("type", "parsing", "float", "attributes"):
        advice = _as_begun(error, model, values) if suggest else ""
        if not advice and what.startswith("int_") and (example := missing_key(key)):
            advice = f', such as "{example}"'
        return f"is {given}, but has to be {wanted}{advice}"
    return f"is {given}: {error['msg']}"


def _as_share(error: ErrorDetails, model: type[BaseModel], values: Any) -> str:
    """Return what to write for a percentage where a share is needed, such as 10 for 0.1."""
    number, key = error["input"], _key(error, values)
    bound = error.get("ctx", {}).get("le", error.get("ctx", {}).get("lt"))
    if bound != 1 or not isinstance(number, (int, float)) or not 1 < number <= _PERCENTS:
        return ""
    if not any(takes_percent(owner, str(key[-1])) for owner in models(types_at(model, key[:-1]))):
        return ""
    return f'. Write {number / 100:g}, or "{number:g} %"'


def _as_begun(error: ErrorDetails, model: type[BaseModel], values: Any) -> str:
    """Return how to write a list or a mapping where something else stands."""
    what, given = error["type"].partition("_")[0], error["input"]
    if advice := meant_form(Wrong(_key(error, values), model, values)):
        return f". {advice}"
    if what == "list" and _key(error, values)[:-1] == ("vary",) and isinstance(given, Mapping):
        name, choices = next(iter(given.items()), ("KEY", []))
        listed = choices if isinstance(choices, list) else [choices]
        return f". Write {_key(error, values)[-1]}.{name}: {_shown(listed)}"
    if what == "list":
        of_mappings = bool(fields(types_at(model, (*_key(error, values), 0))))
        single = isinstance(given, str | int | float) and not of_mappings
        return f". Write [{_shown(given)}]" if single else '. Begin each entry with "- "'
    below_ = fields(types_at(model, _key(error, values)))
    of_kind = [key for key in below_ if given in _kinds(model, (*_key(error, values), key))]
    if isinstance(given, str) and of_kind:
        key = _key(error, values)
        part = whole_kind(Wrong(key, model, values), (*key, of_kind[0]), given, {})
        return f". Write {written({of_kind[0]: part})}"
    keys = [key for key in below_ if key != "kind"]
    if _WANTED[what] != _WANTED["dict"] or not keys:
        return ""
    more = ", ..." if len(keys) > _KEYS_SHOWN else ""
    return f", such as {{{keys[0]}: ...}}. Its keys: {', '.join(keys[:_KEYS_SHOWN])}{more}"


def _at(values: Any, key: Key) -> Any:
    for part in key:
        values = values[part]
    return values


def _unknown(key: Key, model: type[BaseModel], values: Any) -> str:
    *above, last = key
    here = _at(values, tuple(above))
    types_, kind = types_at(model, tuple(above)), here.get("kind")
    if advice := meant_key(Wrong(key, model, values)):
        return f"is not a known key. {advice}"
    owners = [name for found in models(types_) if last in found.model_fields for name in kinds(found)]
    known, name = fields(types_, kind), str(last)
    if owners:
        place = beside(name, tuple(above), model)
        also = f", or to {place}" if place else ""
        return f'is not a key of kind "{kind}". It belongs to kind {" or ".join(owners)}{also}'
    if system := is_parameter(key, values):
        return f"is not a known key here. It is a parameter of {system}: write it below system.parameters"
    if place := below(name, tuple(above), model):
        return f"is not a known key here. It belongs to {place}"
    if above and last in model.model_fields and last not in known:
        return f'is not a known key here. It stands beside "{above[0]}", not below it'
    if nearest(name, known) is None and (place := anywhere(name, model)):
        return f"is not a known key here. It belongs to {place}"
    return f"is not a known key. {suggestion(name, known)}"


def _kinds(model: type[BaseModel], key: Key) -> list[str]:
    return sorted({kind for found in models(types_at(model, key)) for kind in kinds(found)})


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:37] + "..."
