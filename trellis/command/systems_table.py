"""The systems of the registry, for `trellis systems`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from rich.table import Table
from rich.text import Text

from emulator.contract.packages import BadPackage
from emulator.contract.registry import SYSTEMS, WORKLOADS
from emulator.contract.system import System
from emulator.files.quantities import parse_duration

_TYPES: dict[Any, str] = {int: "whole number", float: "number", bool: "true or false", str: "text"}
_REQUIRED, _AS_THERE = "required", "as there"


def usable_systems(broken: list[str]) -> Iterator[tuple[System, str]]:
    """Yield each system with the package that it comes from, "" for Trellis itself.

    What is wrong with systems of packages that cannot be used is added to `broken`.
    """
    for name in SYSTEMS:
        try:
            system = SYSTEMS[name]
        except BadPackage as error:
            broken.append(str(error))
            continue
        yield system, SYSTEMS.package_of(name)


def table_of(system: System, package: str = "") -> Table:
    """Return a table of a system: parameter, type, default, meaning.

    An overlay's parameters are in its own table, or have their names after a dot. The title names
    the `package` that the system comes from, if that is not Trellis itself.
    """
    table = Table(title=headline(system, package), caption=system.paper, title_justify="left")
    for heading in ("parameter", "type", "default", "about"):
        table.add_column(heading, overflow="fold")
    for row in _rows(system.parameters, _defaults(system.parameters)):
        table.add_row(*map(Text, row))  # unchanged, because [low, high] is no markup
    return table


def fields_of(system: System, package: str = "") -> dict[str, Any]:
    """Return what `table_of` shows, for JSON.

    A default is a value as an experiment file has it. A parameter without one is required, or stands for
    those of an overlay that has a table of its own.
    """
    parameters = [
        {"name": name, "type": kind, "about": about, "required": default == _REQUIRED}
        | ({} if default in (_REQUIRED, _AS_THERE) else {"default": json.loads(default)})
        for name, kind, default, about in _rows(system.parameters, _defaults(system.parameters))
    ]
    return {
        "name": system.name,
        "title": system.title,
        "serves": _served(system),
        "package": package,
        "paper": system.paper,
        "parameters": parameters,
    }


def headline(system: System, package: str) -> str:
    """Return a line on a system: its name, its title, what it serves, and its package if it has one."""
    origin = f", from the package {package}" if package else ""
    return f"{system.name}: {system.title} (serves {_served(system)}{origin})"


def _served(system: System) -> str:
    try:
        return WORKLOADS[system.serves].title
    except (KeyError, BadPackage):
        return f"{system.serves}, which is no kind of workload here"


def _rows(
    parameters: type[BaseModel], defaults: dict[str, Any], above: str = ""
) -> Iterator[tuple[str, str, str, str]]:
    for name, field in parameters.model_fields.items():
        below, about = field.annotation, field.description or ""
        if not (isinstance(below, type) and issubclass(below, BaseModel)):
            default = json.dumps(defaults[name]) if name in defaults else _REQUIRED
            yield above + name, type_name(field), default, about
        elif elsewhere := _shown_elsewhere(below, field.default):
            example = f"{above}{name}.{next(iter(below.model_fields))}"
            yield above + name, f"parameters of {elsewhere}", _AS_THERE, f"{about}, such as {example}"
        else:
            yield from _rows(below, defaults.get(name, {}), f"{above}{name}.")


def _shown_elsewhere(parameters: type[BaseModel], default: Any) -> str | None:
    """Return the system whose table has these parameters with the same defaults, None if there is none."""
    if not isinstance(default, parameters) or default.model_fields_set:
        return None
    return next((system.name for system in SYSTEMS.usable() if system.parameters is parameters), None)


def _defaults(parameters: type[BaseModel]) -> dict[str, Any]:
    fields = parameters.model_fields
    given = {name: field.get_default(call_default_factory=True) for name, field in fields.items()}
    made = parameters.model_construct(**{n: v for n, v in given.items() if not fields[n].is_required()})
    return made.model_dump(
        mode="json", warnings=False, include={n for n in fields if not fields[n].is_required()}
    )


def type_name(field: FieldInfo) -> str:
    """Return a text such as "whole number", "duration", "one of a, b", "[number, number]"."""
    if any(getattr(part, "func", None) is parse_duration for part in field.metadata):
        return "duration"
    return _type_name(field.annotation)


def _type_name(annotation: Any) -> str:
    parts = get_args(annotation)
    match get_origin(annotation):
        case origin if origin is Literal:
            return "one of " + ", ".join(str(value) for value in parts)
        case origin if origin is tuple:
            return f"[{', '.join(map(_type_name, parts))}]"
        case origin if origin is dict:
            return f"{{{': '.join(map(_type_name, parts))}}}"
        case origin if origin is list:
            return f"[{_type_name(parts[0])}, ...]"
        case origin if origin is UnionType and annotation not in _TYPES:
            return " or ".join(_type_name(part) for part in parts if part is not NoneType)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "a mapping of its own"
    return _TYPES.get(annotation, str(annotation))
