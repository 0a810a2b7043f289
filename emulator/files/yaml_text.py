"""YAML 1.2 as nodes and plain values, bounded because a little text can grow large, and values as YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

DEEPEST = 50
"""The most levels of mappings and lists in each other."""
_LONGEST_NUMBER = 100
"""The most characters of a number."""
_ADVICE = "Check indentation, colons and quotes near here"
_WITH_COLON = re.compile(r"""\s*(?:- )?([\w.-]+): +[^\s"'{\[].*: .*""")
"""A line whose value is a text that goes on after a colon."""
_TAG = "tag:yaml.org,2002:"
_WITHOUT_QUOTES = (
    ("null", "~|null|Null|NULL|", ["~", *"nN", ""]),
    ("bool", "true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("int", "[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9_]+)", [*"-+0123456789"]),
    (
        "float",
        r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9_]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        [*"-+.0123456789"],
    ),
    (
        "timestamp",
        r"\d{4}-\d\d-\d\d"
        r"|\d{4}-\d\d?-\d\d?([Tt]|[ \t]+)\d\d?:\d\d:\d\d(\.\d*)?([ \t]*(Z|[-+]\d\d?(:\d\d)?))?",
        [*"0123456789"],
    ),
    ("merge", "<<", ["<"]),
)
"""The plain scalars that are no strings: the tag, a pattern and the characters that they begin with.

These are the rules of YAML 1.2, where PyYAML has those of 1.1: `yes` is a word, `1e3` a number and `010` ten.
"""

_KINDS = frozenset({"str", "seq", "map", *(kind for kind, _, _ in _WITHOUT_QUOTES)})
"""The kinds of values, which are tags; YAML has more, and users may make some."""


class BadYaml(Exception):
    """The text is no YAML, or more than is read. `line` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def read_yaml(text: str, most: int) -> tuple[Node | None, Any]:
    """Return the top node and its value, both None if there is nothing.

    `most` is how many keys and values there may be; those behind an alias count wherever it is used. If a key
    is there twice, the first one counts. Raises BadYaml.
    """
    try:
        _check_sizes(text, most)
        node = yaml.compose(text, _Loader)
        return node, yaml.load(text, _Loader)  # of nodes of its own, because merging changes them
    except yaml.MarkedYAMLError as error:
        raise _bad_yaml(error, text.splitlines()) from None
    except yaml.reader.ReaderError as error:
        found = chr(error.character) if isinstance(error.character, int) else str(error.character)
        line = text.count("\n", 0, max(text.find(found), 0)) + 1
        raise BadYaml(line, f"has the character {found!a}, which YAML does not allow. Remove it") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadYaml(1, f"is not YAML: {error}") from None


def _bad_yaml(error: yaml.MarkedYAMLError, lines: list[str]) -> BadYaml:
    """Return an error, which at the end of the text is in the last line, not in the one after it."""
    last = len(lines)
    line = min(error.problem_mark.line + 1, last) if error.problem_mark else 1
    if lines and "\t" in lines[line - 1][: -len(lines[line - 1].lstrip()) or None]:
        return BadYaml(line, "has a tab in its indentation. Write spaces")
    found = _WITH_COLON.fullmatch(lines[line - 1]) if lines else None
    if found and error.problem and error.problem.startswith("mapping values"):
        return BadYaml(line, f"has a colon in the text of {found[1]}. Write the text in quotes")
    began = min(error.context_mark.line + 1, last) if error.context_mark else line
    where = f" (line {began})" if began != line else ""
    what = f"{error.context}{where}, {error.problem}" if error.context else error.problem
    return BadYaml(line, f"is not YAML: {what}. {_ADVICE}")


def write_yaml(values: Any) -> str:
    """Return plain values as text that `read_yaml` reads, in the order of their keys, without aliases."""
    text: str = yaml.dump(values, Dumper=_Dumper, width=100, sort_keys=False, allow_unicode=True)
    return text


def children(node: Node) -> Iterator[tuple[Node | int, Node]]:
    """Yield the key or number of each node that a mapping or list has, with the node."""
    if isinstance(node, MappingNode):
        yield from node.value
    elif isinstance(node, SequenceNode):
        yield from enumerate(node.value)


@dataclass
class _Size:
    """The size of a node: its nodes with itself, None while it has not ended, and its levels."""

    nodes: int
    levels: int = 1


def _check_sizes(text: str, most: int) -> None:
    """Raises BadYaml if the text, with its aliases resolved, has too many nodes or levels."""
    count = 0
    named: dict[str, _Size] = {}
    opened: list[tuple[_Size, int]] = []
    """The mappings and lists that have not ended, each with the count of nodes before it."""
    for event in yaml.parse(text, _Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.CollectionEndEvent):
            ended, before = opened.pop()
            ended.nodes = count - before
        elif isinstance(event, yaml.NodeEvent):
            alias, opens = isinstance(event, yaml.AliasEvent), isinstance(event, yaml.CollectionStartEvent)
            name = event.anchor or ""
            size = named.get(name, _Size(1)) if alias else _Size(0 if opens else 1)
            if alias and not size.nodes:
                raise BadYaml(line, "contains itself. Write the alias out")
            if name:
                named[name] = size
            for level, (around, _) in enumerate(reversed(opened), start=1):
                around.levels = max(around.levels, size.levels + level)
            if len(opened) + size.levels > DEEPEST:
                raise BadYaml(line, f"is nested deeper than {DEEPEST} levels")
            if opens:
                opened.append((size, count))
            count += max(size.nodes, 1)
            if count > most:
                raise BadYaml(line, f"has more than {most:,} keys and values, those of aliases counted")


def _without_quotes() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    found: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for kind, pattern, begins in _WITHOUT_QUOTES:
        for character in begins:
            found.setdefault(character, []).append((_TAG + kind, re.compile(rf"(?:{pattern})\Z")))
    return found


class _Loader(yaml.CSafeLoader):
    """Takes the first of two equal keys, and says in which line a value is that cannot be made."""

    yaml_implicit_resolvers = _without_quotes()

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        line = node.start_mark.line + 1
        kind = node.tag.removeprefix(_TAG)
        if kind not in _KINDS:
            name = f"!!{kind}" if kind != node.tag else kind
            raise BadYaml(line, f"has the tag {name}, and tags are not used here. Write the value without it")
        if isinstance(node, MappingNode):
            for key, _ in node.value:
                if not isinstance(key, ScalarNode):
                    raise BadYaml(key.start_mark.line + 1, "a key has to be a word")
                if key.tag.removeprefix(_TAG) in _KINDS - {"merge"}:
                    key.tag = f"{_TAG}str"  # a key is the word that is written, as `5` or `~`
        if isinstance(node, ScalarNode) and kind in ("int", "float") and len(node.value) > _LONGEST_NUMBER:
            text = f"has a number of {len(node.value):,} characters, more than {_LONGEST_NUMBER}"
            raise BadYaml(line, text)
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise BadYaml(line, f"has a value that is no {kind}: {error}") from None

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
        first = {key.value: (key, value) for key, value in reversed(node.value)}
        node.value = [*reversed(first.values())]
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: ScalarNode) -> int:
        digits = self.construct_scalar(node).replace("_", "")
        return int(digits, 0 if digits.lstrip("+-")[1:2] in ("b", "o", "x") else 10)


_Loader.add_constructor(f"{_TAG}int", _Loader.construct_yaml_int)


class _Dumper(yaml.CSafeDumper):
    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:
        return True
