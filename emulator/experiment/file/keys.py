"""The keys that an experiment file may have, derived from the models in `spec.py`."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from emulator.experiment.file.document import Key
from emulator.files.quantities import parse_share

Alternatives = tuple[Any, ...]
"""The types that a value may have; several where a `kind` chooses."""


def alternatives(annotation: Any) -> Alternatives:
    """Return the types of an annotation: `Model | None` -> `(Model, NoneType)`."""
    if get_origin(annotation) is Annotated:
        return alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(part for member in get_args(annotation) for part in alternatives(member))
    return (annotation,)


def kinds(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the values that `kind` may have for this model; none if it has no kind."""
    field = model.model_fields.get("kind")
    return get_args(field.annotation) if field and get_origin(field.annotation) is Literal else ()


def models(types_: Alternatives, kind: Any = None) -> list[type[BaseModel]]:
    """Return the models among the types, without those of other kinds if one is given."""
    found = [t for t in types_ if isinstance(t, type) and issubclass(t, BaseModel)]
    return [model for model in found if kind is None or not kinds(model) or kind in kinds(model)]


def fields(types_: Alternatives, kind: Any = None) -> dict[str, Alternatives]:
    """Return each key that a mapping of these types may have, with its types."""
    found: dict[str, Alternatives] = {}
    for model in models(types_, kind):
        for name, info in model.model_fields.items():
            found[name] = found.get(name, ()) + alternatives(info.annotation)
    return found


def members_of(types_: Alternatives) -> Alternatives:
    """Return the types that the values of a list may have."""
    return tuple(t for list_ in types_ for member in get_args(list_) for t in alternatives(member))


def types_at(root: type[BaseModel], key: Key) -> Alternatives:
    """Return the types of `key`, whatever the kinds above it are. There are none if there is no such key."""
    here: Alternatives = (root,)
    for part in key:
        here = members_of(here) if isinstance(part, int) else fields(here).get(part, ())
    return here


def files(types_: Alternatives, value: Any, key: Key = ()) -> Iterator[Key]:
    """Yield the keys under `value` that name files."""
    if isinstance(value, str) and Path in types_:
        yield key
    elif isinstance(value, Mapping):
        for name, under in fields(types_).items():
            if name in value:
                yield from files(under, value[name], (*key, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from files(members_of(types_), each, (*key, index))


def takes_percent(model: type[BaseModel], name: str) -> bool:
    """Return whether a key of a model is a share, which may be written in percent."""
    info = model.model_fields.get(name)
    waiting: list[Any] = [info.annotation, *info.metadata] if info else []
    while waiting:
        part = waiting.pop()
        if getattr(part, "func", None) is parse_share:
            return True
        waiting += [*get_args(part), *(part.__metadata__ if get_origin(part) is Annotated else ())]
    return False


def default_kind(info: FieldInfo) -> str | None:
    """Return the kind of the model that a field has when it is left out."""
    default = info.get_default(call_default_factory=True, validated_data={})
    kind = getattr(default, "kind", None)
    return kind if isinstance(kind, str) else None


def fill_kinds(model: type[BaseModel], values: dict[str, Any]) -> None:
    """Write the default `kind` into mappings that have other keys but no `kind`, and a mapping of a kind for
    a word where only kinds can be: `latency: king` is `latency: {kind: king}`, `system: vitis` a name."""
    for name, info in model.model_fields.items():
        value = values.get(name)
        if isinstance(value, str) and (key := _short_for(alternatives(info.annotation))):
            value = values[name] = {key: value}
        if not isinstance(value, dict):
            continue
        types_ = alternatives(info.annotation)
        if "kind" not in value and (kind := default_kind(info)) is not None:
            value["kind"] = kind
        for below in models(types_, value.get("kind")):
            fill_kinds(below, value)


def _short_for(types_: Alternatives) -> str | None:
    """Return the key that a word alone stands for where these types are, or None if it is no short form."""
    found = [type_ for type_ in types_ if type_ is not type(None)]
    if not found or len(models(types_)) < len(found):
        return None  # a word may be a value, such as a duration
    if all(kinds(found_model) for found_model in models(types_)):
        return "kind"
    required = [name for name, info in models(types_)[0].model_fields.items() if info.is_required()]
    return "name" if len(found) == 1 and required == ["name"] else None


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` was probably meant to be."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return "did you mean ...?", or all known words if none is near."""
    known = sorted(known)
    if (near := nearest(word, known)) is not None:
        return f'Did you mean "{near}"?'
    return "Known: " + ", ".join(known) if known else "Nothing may be here"
