"""A YAML file or an option of the command line as plain values that remember where they were written."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode

from emulator.experiment.file.shipped import meant_experiments
from emulator.files.reading import read_regular
from emulator.files.yaml_text import BadYaml, children, read_yaml

MOST_OF_A_KIND = 20
"""The most problems of each kind that are told."""
_GIVEN = re.compile(r'"(?:[^"\\]|\\.)*"|\S*\d\S*')
"""The parts in which two problems of a kind differ: words in quotes, and words with digits."""
_UNUSABLE = re.compile("[\0\ud800-\udfff]")
"""The characters that neither a file's name nor UTF-8 can hold."""
WRITTEN = 100
"""The factor by which an experiment.yaml may exceed a user's file, because every default is written out, and
all that a campaign draws: 10,000 trials with five faults each have 700,000 keys and values."""
_MOST_BYTES = 1_000_000
_MOST_VALUES = 20_000
"""The most keys and values: they take a tenth of a second to read."""
Key = tuple[str | int, ...]
"""The path to a value: names in mappings, positions in lists."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The place where a value was written: a file and a line from 1 on, or an option (line 0)."""

    source: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One problem of an experiment; `text` says what is wrong and how to mend it."""

    place: Place
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.key}: {self.text}" if self.key else f"{self.place}: {self.text}"


class ExperimentError(Exception):
    """The experiment cannot be run; the error has all its problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(_told(self.problems)))


def _told(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield each problem as a line, the first `MOST_OF_A_KIND` of each kind, and how many more there are."""
    kinds = Counter[str]()
    for problem in problems:
        kind = _GIVEN.sub("", problem.text).partition(". ")[0]
        kinds[kind] += 1
        if kinds[kind] <= MOST_OF_A_KIND:
            yield str(problem)
    for kind, count in kinds.items():
        if count > MOST_OF_A_KIND:
            yield f"and {count - MOST_OF_A_KIND:,} more of the kind: {' '.join(kind.split())}"


def dotted(key: Key) -> str:
    """Return the key as text: `("vary", "peers", 0)` -> `vary.peers[0]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key)
    return text.removeprefix(".")


@dataclass(slots=True)
class Document:
    """The values of a file, each with its place."""

    source: str
    values: dict[str, Any] = field(default_factory=dict)
    places: dict[Key, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    """The problems of the text itself, such as a key that is there twice."""
    replaced: set[Key] = field(default_factory=set)
    """The keys whose values are not those of the file, because nothing can hold those."""

    def place(self, key: Key) -> Place:
        """Return where `key` is, or the part around it if it is not there."""
        for length in range(len(key), 0, -1):
            if (place := self.places.get(key[:length])) is not None:
                return place
        return Place(self.source, 1)

    def problem(self, key: Key, text: str) -> Problem:
        return Problem(self.place(key), dotted(key), text)


def _ready_instead(path: Path) -> str:
    """Return what to write in place of a user's file that is not there."""
    listed = "`trellis experiments` lists those that come with Trellis"
    meant = " or ".join(f'"{name}"' for name in meant_experiments(path))
    return f"Did you mean {meant}? {listed}" if meant else f"Check the path. {listed}"


def read_document(path: Path, room: int = 1) -> Document:
    """Read a YAML file whose top is a mapping, `room` times as large as files of users may be.

    Raises ExperimentError if the file cannot be read or is not YAML; keys that are there twice are left in
    `problems`, because the rest can still be checked.
    """
    source = str(path)
    try:
        text = read_regular(path, room * _MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        mend = _ready_instead(path) if room == 1 else "Check the path"
        raise ExperimentError([Problem(Place(source), "", f"there is no such file. {mend}")]) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ExperimentError(
            [Problem(Place(source, line), "", "is not UTF-8 text. Save it as UTF-8")]
        ) from None
    except OSError as error:
        raise ExperimentError([Problem(Place(source), "", f"cannot be read: {error.strerror}")]) from None
    document = Document(source)
    node, values = _parse(text, source, room * _MOST_VALUES)
    if not isinstance(node, MappingNode) or not isinstance(values, dict):
        text = 'an experiment is a mapping of keys to values. Begin with "name: ..."'
        raise ExperimentError([Problem(Place(source, 1), "", text)])
    document.values = values
    _visit(document, (), node)
    _replace_unusable(document, (), values)
    document.values = plain(values)
    return document


def read_value(text: str, source: str) -> Any:
    """Return the value of an option, typed as YAML types it. Raises ExperimentError."""
    return _parse(text, source, _MOST_VALUES)[1]


def _parse(text: str, source: str, most: int) -> tuple[Node | None, Any]:
    try:
        return read_yaml(text, most)
    except BadYaml as error:
        raise ExperimentError([Problem(Place(source, error.line), "", str(error))]) from None


def _visit(document: Document, key: Key, node: Node) -> None:
    """Note the place of everything under `node`, and find keys that are there twice."""
    seen: dict[str, Node] = {}
    for name, child in children(node):
        if isinstance(name, ScalarNode):
            line = name.start_mark.line + 1
            part: str | int = str(name.value)
            first = seen.setdefault(str(name.value), name)
            if first is not name:
                place = Place(document.source, line)
                text = f"is there twice, first in line {first.start_mark.line + 1}. Keep one"
                document.problems.append(Problem(place, dotted((*key, part)), text))
                continue  # the values hold the first one
        elif isinstance(name, int):
            line, part = child.start_mark.line + 1, name
        else:
            place = Place(document.source, child.start_mark.line + 1)
            document.problems.append(Problem(place, dotted(key), "a key has to be a word"))
            continue
        document.places[(*key, part)] = Place(document.source, line)
        _visit(document, (*key, part), child)


def _replace_unusable(document: Document, key: Key, values: dict[Any, Any] | list[Any]) -> None:
    for name, value in list(values.items() if isinstance(values, dict) else enumerate(values)):
        if isinstance(name, str) and (found := _UNUSABLE.search(name)):
            text = f"has a key with the character {found[0]!a}, which no text has. Remove it"
            document.problems.append(document.problem(key, text))
            del values[name]  # type: ignore[arg-type]
        elif isinstance(value, (dict, list)):
            _replace_unusable(document, (*key, name), value)
        elif isinstance(value, float) and not math.isfinite(value):
            document.problems.append(document.problem((*key, name), f"is {value}. Write a finite number"))
            values[name] = 0.0
            document.replaced.add((*key, name))
        elif isinstance(value, str) and (found := _UNUSABLE.search(value)):
            text = f"has the character {found[0]!a}, which no text has. Remove it"
            document.problems.append(document.problem((*key, name), text))
            values[name] = _UNUSABLE.sub("?", value)
            document.replaced.add((*key, name))


def plain(value: Any) -> Any:
    """Return a copy that JSON can hold, without shared parts. Raises ValueError on what it cannot hold."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"is {value}. Write a finite number")
    if isinstance(value, str) and (found := _UNUSABLE.search(value)):
        raise ValueError(f"has the character {found[0]!a}, which no text has. Remove it")
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
