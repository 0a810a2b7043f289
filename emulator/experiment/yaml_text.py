"""Text in YAML as nodes and plain values, with bounds on what little text can grow to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

DEEPEST = 50
"""Levels of mappings and lists in each other."""
_LONGEST_NUMBER = 100
"""Characters."""
_ADVICE = "Check indentation, colons and quotes near here"


class BadYaml(Exception):
    """Text that is no YAML, or more than is read. `line` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def read_yaml(text: str, most: int) -> tuple[Node | None, Any]:
    """The top node and its value, both None if there is nothing.

    `most` is how many keys and values there may be, those behind aliases counted wherever they are used.
    Raises BadYaml.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.allow_duplicate_keys = True
    yaml.Composer = _Composer
    yaml.Constructor = _Constructor
    yaml.composer.most = most
    try:
        node = yaml.compose(text)
        return node, None if node is None else yaml.constructor.construct_document(node)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise BadYaml(mark.line + 1 if mark else 1, f"is not YAML: {what}. {_ADVICE}") from None
    except (YAMLError, ValueError) as error:
        raise BadYaml(1, f"is not YAML: {error}") from None


def children(node: Node) -> Iterator[tuple[Node | int, Node]]:
    """The key or number of each node that a mapping or list has, with the node."""
    if isinstance(node, MappingNode):
        yield from node.value
    elif isinstance(node, SequenceNode):
        yield from enumerate(node.value)


class _Composer(Composer):
    """Counts nodes and levels while it reads. What an alias stands for counts again each time."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self.warn_double_anchors = False
        self.most = 0
        self._count = 0
        self._level = 0
        self._sizes: dict[int, tuple[int, int]] = {}
        """By the id of a node that is whole: its nodes, and its levels."""
        self._deepest = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        line = event.start_mark.line + 1
        before = self._count
        if isinstance(event, AliasEvent) and event.anchor in self.anchors:
            node = super().compose_node(parent, index)
            if id(node) not in self._sizes:
                raise BadYaml(line, "contains itself. Write the alias out")
            count, levels = self._sizes[id(node)]
            self._count += count
            self._deepest = max(self._deepest, self._level + levels)
            self._check(line)
            return node
        around, self._deepest = self._deepest, self._level + 1
        self._level += 1
        self._count += 1
        self._check(line)
        node = super().compose_node(parent, index)
        self._level -= 1
        self._sizes[id(node)] = self._count - before, self._deepest - self._level
        self._deepest = max(around, self._deepest)
        return node

    def _check(self, line: int) -> None:
        if self._count > self.most:
            raise BadYaml(line, f"has more than {self.most:,} keys and values, those of aliases counted")
        if max(self._level, self._deepest) > DEEPEST:
            raise BadYaml(line, f"is nested deeper than {DEEPEST} levels")


class _Constructor(SafeConstructor):
    """Says in which line a value is that cannot be made."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        line = node.start_mark.line + 1
        kind = str(node.tag).rpartition(":")[2]
        for key in (key for key, _ in children(node) if isinstance(node, MappingNode)):
            if isinstance(key, Node) and not isinstance(key, ScalarNode):
                raise BadYaml(key.start_mark.line + 1, "a key has to be a word")
        if isinstance(node, ScalarNode) and kind in ("int", "float") and len(node.value) > _LONGEST_NUMBER:
            text = f"has a number of {len(node.value):,} characters, more than {_LONGEST_NUMBER}"
            raise BadYaml(line, text)
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise BadYaml(line, f"has a value that is no {kind}: {error}") from None
