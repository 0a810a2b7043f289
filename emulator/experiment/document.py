"""A YAML file or an option of the command line as plain values that remember where they were written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Key = tuple[str | int, ...]
"""The way to a value: names in mappings, positions in lists."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a value was written: a file and a line from 1 on, or an option (line 0)."""

    source: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong with an experiment; `text` says what and how to mend it."""

    place: Place
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.key}: {self.text}" if self.key else f"{self.place}: {self.text}"


class ExperimentError(Exception):
    """An experiment that cannot be run, with all its problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def dotted(key: Key) -> str:
    """`("vary", "peers", 0)` -> `vary.peers[0]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key)
    return text.removeprefix(".")


@dataclass(slots=True)
class Document:
    """The values of a file, each with its place."""

    source: str
    values: dict[str, Any] = field(default_factory=dict)
    places: dict[Key, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    """What is wrong with the text itself, such as a key that is there twice."""

    def place(self, key: Key) -> Place:
        """Where `key` is, or the part around it if it is not there."""
        for length in range(len(key), 0, -1):
            if (place := self.places.get(key[:length])) is not None:
                return place
        return Place(self.source, 1)

    def problem(self, key: Key, text: str) -> Problem:
        return Problem(self.place(key), dotted(key), text)


def read_document(path: Path) -> Document:
    """Read a YAML file whose top is a mapping.

    Raises ExperimentError if the file cannot be read or is not YAML; keys that are there twice are
    left in `problems`, because the rest can still be checked.
    """
    source = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ExperimentError([Problem(Place(source), "", "there is no such file. Check the path")]) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ExperimentError(
            [Problem(Place(source, line), "", "is not UTF-8 text. Save it as UTF-8")]
        ) from None
    except OSError as error:
        raise ExperimentError([Problem(Place(source), "", f"cannot be read: {error.strerror}")]) from None
    document = Document(source)
    node, values = _parse(text, source)
    if not isinstance(node, MappingNode) or not isinstance(values, dict):
        text = 'an experiment is a mapping of keys to values. Begin with "name: ..."'
        raise ExperimentError([Problem(Place(source, 1), "", text)])
    document.values = values
    _visit(document, (), node)
    _replace_infinities(document, (), values)
    document.values = plain(values)
    return document


def read_value(text: str, source: str) -> Any:
    """The value of an option, typed as YAML types it. Raises ExperimentError."""
    return _parse(text, source)[1]


def _parse(text: str, source: str) -> tuple[Node | None, Any]:
    yaml = YAML(typ="safe", pure=True)
    yaml.allow_duplicate_keys = True
    try:
        node = yaml.compose(text)
        if node is None:
            return None, None
        _refuse_loops(node, (), source)
        return node, yaml.constructor.construct_document(node)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        place = Place(source, mark.line + 1 if mark else 1)
        problem = Problem(place, "", f"is not YAML: {what}. Check indentation, colons and quotes near here")
    except (YAMLError, ValueError) as error:
        problem = Problem(Place(source, 1), "", f"is not YAML: {error}")
    raise ExperimentError([problem])


def _refuse_loops(node: Node, above: tuple[int, ...], source: str) -> None:
    if id(node) in above:
        line = node.start_mark.line + 1
        raise ExperimentError([Problem(Place(source, line), "", "contains itself. Write the alias out")])
    for _, child in _children(node):
        _refuse_loops(child, (*above, id(node)), source)


def _children(node: Node) -> Iterator[tuple[Node | int, Node]]:
    if isinstance(node, MappingNode):
        yield from node.value
    elif isinstance(node, SequenceNode):
        yield from enumerate(node.value)


def _visit(document: Document, key: Key, node: Node) -> None:
    """Note the place of everything under `node`, and find keys that are there twice."""
    seen: dict[str, Node] = {}
    for name, child in _children(node):
        if isinstance(name, ScalarNode):
            line = name.start_mark.line + 1
            part: str | int = str(name.value)
            first = seen.setdefault(str(name.value), name)
            if first is not name:
                place = Place(document.source, line)
                text = f"is there twice, first in line {first.start_mark.line + 1}. Keep one"
                document.problems.append(Problem(place, dotted((*key, part)), text))
                continue  # the first one is what was read
        elif isinstance(name, int):
            line, part = child.start_mark.line + 1, name
        else:
            place = Place(document.source, child.start_mark.line + 1)
            document.problems.append(Problem(place, dotted(key), "a key has to be a word"))
            continue
        document.places[(*key, part)] = Place(document.source, line)
        _visit(document, (*key, part), child)


def _replace_infinities(document: Document, key: Key, values: dict[Any, Any] | list[Any]) -> None:
    for name, value in list(values.items() if isinstance(values, dict) else enumerate(values)):
        if isinstance(value, (dict, list)):
            _replace_infinities(document, (*key, name), value)
        elif isinstance(value, float) and not math.isfinite(value):
            document.problems.append(document.problem((*key, name), f"is {value}. Write a finite number"))
            values[name] = 0.0


def plain(value: Any) -> Any:
    """A copy that JSON can hold, without shared parts. Raises ValueError on an infinity or NaN."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"is {value}. Write a finite number")
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
