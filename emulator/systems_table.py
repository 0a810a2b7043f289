"""The systems of the registry, for `trellis systems`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from rich.table import Table

from emulator.quantities import parse_duration
from emulator.registry import SYSTEMS, System

_SERVES = {
    "topics": "serves subscriptions by topic",
    "content": "serves subscriptions by ranges",
    "lookups": "serves lookups",
}


def systems_table() -> Iterator[Table]:
    """A table for each system: parameter, type, default, what it is."""
    for system in SYSTEMS.values():
        yield _table(system)


def _table(system: System) -> Table:
    title = f"{system.name}: {system.title} ({_SERVES[system.serves]})"
    table = Table(title=title, caption=system.paper, title_justify="left")
    for heading in ("parameter", "type", "default", "about"):
        table.add_column(heading, overflow="fold")
    defaults = _defaults(system)
    for name, field in system.parameters.model_fields.items():
        default = json.dumps(defaults[name]) if name in defaults else "required"
        table.add_row(name, type_name(field), default, field.description or "")
    return table


def _defaults(system: System) -> dict[str, Any]:
    fields = system.parameters.model_fields
    given = {name: field.get_default(call_default_factory=True) for name, field in fields.items()}
    made = system.parameters.model_construct(
        **{n: v for n, v in given.items() if not fields[n].is_required()}
    )
    return made.model_dump(
        mode="json", warnings=False, include={n for n in fields if not fields[n].is_required()}
    )


def type_name(field: FieldInfo) -> str:
    """Such as "whole number", "duration", "one of a, b"."""
    if any(getattr(part, "func", None) is parse_duration for part in field.metadata):
        return "duration"
    if get_origin(field.annotation) is Literal:
        return "one of " + ", ".join(str(value) for value in get_args(field.annotation))
    names: dict[Any, str] = {int: "whole number", float: "number", bool: "true or false", str: "text"}
    return names.get(field.annotation, str(field.annotation))
