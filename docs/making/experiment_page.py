"""The reference of experiment files, made from their JSON schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from docs.making.key_examples import key_example
from emulator.experiment.file.json_schema import experiment_schema
from emulator.files.input_facts import counted

Part = Mapping[str, Any]

_EXPERIMENT: Final = """\
# Keys of an experiment file

This page is made from the schema by which `trellis validate` and
[editors](../experiment-file.md#keys-in-an-editor) check a file: `make reference` writes it. A heading is the
dotted key of a part of the file, as `--set` and `vary` take it. *Value* says what may be written: a *time*
has its unit (`us`, `ms`, `s`, `min`, `h`, `d`), a *rate* too (such as `20 Mbit/s`), and a *share* is a number
from 0 to 1 or a text such as `5 %`. *Required* keys may also come from `vary`. The models of churn come
first, then the other parts in their order in a file.
[Write an experiment file](../experiment-file.md) explains what the parts are for;
[churn](../churn.md), [links and faults](../faults.md), [attackers](../attackers.md) and
[files](../inputs.md) have pages of their own, and the parameters of each system are
[on the next page](parameters.md).
"""
_PARAMETERS: Final = """\
# Parameters of systems

The keys of `system.parameters`, for each value of `system.name`. This page is made from the schema of
experiment files: `make reference` writes it. The pages of [systems](../systems/README.md) say what papers
have for them, and why. Parts that two systems have in common stand at the first of them.
"""
_QUANTITY: Final = re.compile(
    r'A (time|rate) with its unit \([^)]*\)(?:, such as "([^"]*)"|, or "[^"]*")?(?:; ([^.]*))?\.?'
)
_REQUIRED: Final = "Required, here or by vary"
_FIRST: Final = "churn"
"""The part of an experiment whose sections come before those of all others."""
_KIND: Final = "Chooses what this section describes"
_KINDS: Final = "A kind with keys of its own: a section below for each"
"""The meaning of a key that tells none itself and has several kinds of values."""
_TYPES: Final = {
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "string": "text",
    "object": "keys with values",
}
_BOUNDS: Final = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "minLength": "at least {}",
    "maxLength": "at most {}",
}
_COUNTED: Final = {"Items": ("entry", "entries"), "Length": ("letter", "letters")}
"""The nouns of what a bound of this kind counts."""


def experiment_page() -> str:
    """Return the page of all keys but the parameters of systems, as Markdown."""
    schema = experiment_schema()
    return "\n".join([_EXPERIMENT, *_Sections(schema["$defs"]).of("", schema)]) + "\n"


def parameters_page() -> str:
    """Return the page of the parameters of Trellis' own systems, as Markdown."""
    definitions = experiment_schema()["$defs"]
    sections = _Sections(definitions)
    lines = [_PARAMETERS]
    for name in sorted(key[:-1] for key in definitions if key.endswith(":")):
        lines += sections.of(name, definitions[f"{name}:"])
    return "\n".join(lines) + "\n"


class _Sections:
    """Writes the sections of an object and of those below it, each definition once."""

    def __init__(self, definitions: Part) -> None:
        self._definitions = definitions
        self._written: dict[str, str] = {}
        """The heading of each definition that has been written, by its content."""

    def of(self, key: str, part: Part, kind: str = "") -> list[str]:
        """Return the lines of the object at a dotted key, and of the objects below it."""
        lines = []
        if key:
            lines += [f"## {key}{kind}\n"]
            lines += [f"{_sentence(part['description'])}\n"] if part.get("description") else []
        properties: Part = part.get("properties", {})
        if properties:
            lines += ["| key | value | default | limits | meaning | example |", "|---|---|---|---|---|---|"]
            of = f"{key}." if key else ""
            lines += [self._row(name, below, f"{of}{name}") for name, below in properties.items()]
            lines.append("")
        in_order = sorted(properties.items(), key=lambda one: bool(key) or one[0] != _FIRST)
        for name, below in in_order:
            for reference in _references(below):
                lines += self._referred(f"{key}.{name}" if key else name, reference)
        return lines

    def _referred(self, key: str, reference: str) -> list[str]:
        part = self._definitions[reference]
        content = re.sub(r"#/\$defs/[\w-]+:", "", json.dumps(part))
        named = part.get("properties", {}).get("kind", {}).get("const", "")
        kind = f", kind: {named}" if named else ""
        if content not in self._written:
            self._written[content] = f"{key}{kind}"
            return self.of(key, part, kind)
        first = self._written[content]
        return [] if first == f"{key}{kind}" else [f"`{key}`{kind}: as *{first}*.\n"]

    def _row(self, name: str, part: Part, key: str) -> str:
        about = part.get("description", "")
        found = _QUANTITY.search(about)
        limits = [] if found is None or not found[3] else [found[3]]
        limits += _limits(part)
        about = _QUANTITY.sub("", about)
        required = _REQUIRED in about
        about = about.replace(_REQUIRED, "").strip().removesuffix(".")
        about = about or self._meaning(name, part)
        default = (
            "required" if required else _code(part["default"]) if part.get("default") is not None else ""
        )
        value = " or ".join(dict.fromkeys(self._values(part)))
        example = _example(part) if found is None or found[2] is None else part.get("default") or found[2]
        if _is_unclear(example):
            example = key_example(key, value, part)
        told = "" if example in (None, "", []) else f"`{name}: {_yaml(example)}`"
        cells = (f"`{name}`", value, default, ", ".join(limits), _sentence(about), told)
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    def _meaning(self, name: str, part: Part) -> str:
        """Return the meaning of a key that has none of its own: what is said of the keys below it."""
        told = dict.fromkeys(
            str(self._definitions[each].get("description", "")) for each in _references(part)
        )
        if not told:
            return _KIND if name == "kind" else ""
        if len(told) > 1:
            return _KINDS
        below = self._definitions[next(_references(part))].get("properties", {})
        return next(iter(told)) or f"Has {', '.join(map(_code, below))}"

    def _values(self, part: Part) -> Iterator[str]:
        """Yield what may be written, each form once."""
        if "$ref" in part:
            yield "keys below"
        elif "anyOf" in part:
            for each in part["anyOf"]:
                yield from self._values(each)
        elif "const" in part:
            yield _code(part["const"])
        elif "enum" in part:
            yield "one of " + ", ".join(map(_code, part["enum"]))
        elif "%" in part.get("pattern", ""):
            yield "share"
        elif part.get("type") == "string" and "min|h|d" in part.get("pattern", ""):
            yield "time"
        elif part.get("type") == "string" and "bit/s" in part.get("pattern", ""):
            yield "rate"
        elif part.get("type") == "array":
            below = " or ".join(dict.fromkeys(self._values(part.get("items", {})))) or "values"
            yield f"list of {below}"
        elif part.get("type") != "null":
            yield _TYPES.get(str(part.get("type")), "number or text" if part else "any value")


def _references(part: Any) -> Iterator[str]:
    """Yield the definitions that a part names, in its order."""
    if isinstance(part, Mapping):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"].removeprefix("#/$defs/")
        for each in part.values():
            yield from _references(each)
    elif isinstance(part, list):
        for each in part:
            yield from _references(each)


def _limits(part: Part) -> list[str]:
    found = [_bound(key, part[key]) for key in _BOUNDS if key in part]
    for each in part.get("anyOf", ()):
        found += _limits(each)
    return list(dict.fromkeys(found))


def _bound(key: str, value: Any) -> str:
    noun = _COUNTED.get(key[3:])
    return _BOUNDS[key].format(counted(value, *noun) if noun else _number(value))


def _example(part: Part) -> Any:
    """Return an example: one of the schema, the default, or the first value that is allowed."""
    if part.get("examples"):
        return part["examples"][0]
    if part.get("default") is not None:
        return part["default"]
    for each in part.get("anyOf", (part,)):
        if "const" in each or "enum" in each:
            return each.get("const", each.get("enum", [None])[0])
        if each.get("type") in ("integer", "number") and "minimum" in each:
            return each["minimum"]
    return None


def _is_unclear(example: Any) -> bool:
    """This is true of what shows a reader nothing: an empty value, and the inside of a whole part."""
    return example in (None, "", []) or isinstance(example, Mapping)


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    if "/" not in text.partition(" ")[0]:
        text = text[:1].upper() + text[1:]
    return text + ("" if not text or text.endswith(".") else ".")


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _code(value: Any) -> str:
    return f"`{_yaml(value)}`"


def _yaml(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)
