"""The JSON schema of an experiment file, by which editors complete and check keys.

It is made from the models that check the file, so its keys, limits and defaults are theirs. A schema cannot
see what `vary` and packages add, so it never asks for a key but `name`; `trellis validate` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.tolerance import parse_amount
from emulator.files.quantities import (
    RATE_UNITS,
    format_duration,
    format_rate,
    parse_duration,
    parse_rate,
    parse_rate_or_0,
    parse_share,
    parse_signed_duration,
    parse_signed_share,
)
from emulator.network.spec import PLAIN

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER = r"\s*[0-9]+(\.[0-9]+)?"
_TIME = rf"{_NUMBER}([eE][+-]?[0-9]+)?\s*(us|ms|s|min|h|d)\s*$"
_RATE = rf"^{_NUMBER}\s*({'|'.join(RATE_UNITS)})\s*$"
_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
}
_PLAIN_LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
"""The limits that pydantic writes by its own words behind a function, by those of JSON schemas."""
_TEXTS: dict[Any, tuple[str, str, Callable[[Any], str]]] = {
    parse_duration: (
        f"^{_TIME}",
        'A time with its unit (us, ms, s, min, h, d), such as "30 s"',
        format_duration,
    ),
    parse_signed_duration: (
        rf"^\s*-?{_TIME}",
        'A time with its unit (us, ms, s, min, h, d), such as "-30 s"',
        format_duration,
    ),
    parse_rate: (_RATE, f'A rate with its unit ({", ".join(RATE_UNITS)}), such as "20 Mbit/s"', format_rate),
    parse_rate_or_0: (_RATE, f'A rate with its unit ({", ".join(RATE_UNITS)}), or "0 bit/s"', format_rate),
}
"""The pattern, the meaning and the way of writing of quantities that are texts in a file."""
_SHARES = {parse_share: r"^\s*", parse_signed_share: r"^\s*-?"}
_WORD = "x-trellis-quantity"
"""The key by which a quantity is found again while the schema is made."""


def experiment_schema() -> dict[str, Any]:
    """Return the schema of an experiment file, with the parameters of each system that is installed."""
    schema = ExperimentSpec.model_json_schema(schema_generator=_Generator, ref_template="#/$defs/{model}")
    definitions, systems = schema["$defs"], {system.name: system for system in SYSTEMS.usable()}
    choices = []
    for name, system in systems.items():
        below = system.parameters.model_json_schema(
            schema_generator=_Generator, ref_template=f"#/$defs/{name}:{{model}}"
        )
        definitions |= {f"{name}:{key}": part for key, part in below.pop("$defs", {}).items()}
        definitions[f"{name}:"] = below
        chosen = {"properties": {"name": {"const": name}}, "required": ["name"]}
        choices.append({"if": chosen, "then": {"properties": {"parameters": {"$ref": f"#/$defs/{name}:"}}}})
    of_system = definitions["SystemSpec"]
    of_system["properties"]["name"]["examples"] = list(systems)
    of_system["allOf"] = choices
    schema["properties"]["system"] = {
        "anyOf": [{"$ref": "#/$defs/SystemSpec"}, {"type": "string", "examples": list(systems)}],
        "description": "The system under test: its name, or its name and parameters",
    }
    schema = _plain(schema)
    return {"$schema": _DIALECT, **schema, "required": ["name"]}


class _Generator(GenerateJsonSchema):
    """Writes quantities as a file has them, and allows the short forms that a file may have."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        function = schema["function"]["function"]
        if function is parse_amount:
            return {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"%\s*$"}]}
        inner = super().function_before_schema(schema)
        if function in _TEXTS:
            return {**inner, _WORD: function}
        if function in _SHARES:
            percent = {"type": "string", "pattern": rf"{_SHARES[function]}{_NUMBER}\s*%\s*$"}
            return {"anyOf": [inner, percent]}
        if schema["schema"]["type"] == "model-fields":
            return inner  # what runs before the keys of a model are checked has no form of its own
        return {"anyOf": [inner, {"type": ["string", "integer"]}]}

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        made = super().tagged_union_schema(schema)
        kinds = sorted(key for key in schema["choices"] if isinstance(key, str) and key != PLAIN)
        return {"anyOf": [*made["oneOf"], {"enum": kinds}]}


def _plain(part: Any) -> Any:
    """Return a part of the schema without what only pydantic reads, with quantities as texts."""
    if isinstance(part, list):
        return [_plain(each) for each in part]
    if not isinstance(part, Mapping):
        return part
    made = {_limit(key, value): _plain(value) for key, value in part.items() if key != _WORD}
    if isinstance(made.get("title"), str):
        del made["title"]  # pydantic repeats the key there
    if made.get("type") == "object" and isinstance(made.get("properties"), dict):
        for key in made.pop("required", ()):
            below = made["properties"][key]
            below["description"] = _joined(below.get("description", ""), "Required, here or by vary")
    if _WORD in part:
        return _quantity(made, part[_WORD])
    function = next((each[_WORD] for each in part.get("anyOf", ()) if _WORD in each), None)
    if function is not None and isinstance(made.get("default"), int | float):
        made["default"] = _TEXTS[function][2](made["default"])
    return made


def _limit(key: str, value: Any) -> str:
    """Return the key of JSON schemas for a limit, any other key as it is."""
    return _PLAIN_LIMITS.get(key, key) if isinstance(value, int | float) else key


def _joined(*texts: str) -> str:
    """Return the texts that there are as sentences."""
    return ". ".join(text.removesuffix(".") for text in texts if text)


def _quantity(made: dict[str, Any], function: Any) -> dict[str, Any]:
    """Return a number as the text that a file has, its limits in the description."""
    pattern, meaning, written = _TEXTS[function]
    limits = [text.format(written(made.pop(key))) for key, text in _LIMITS.items() if key in made]
    about = _joined(made.get("description", ""), "; ".join([meaning, *limits]))
    made |= {"type": "string", "pattern": pattern, "description": about}
    if isinstance(made.get("default"), int | float):
        made["default"] = written(made["default"])
    return made
