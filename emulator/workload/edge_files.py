"""Reads the edges of a graph: lines of two node ids, KONECT, Matrix Market (coordinate), or GML.

What a file is, its first line tells: KONECT begins with `% sym`, `% asym` or `% bip`, Matrix Market with
`%%MatrixMarket`, GML with `graph [` or `Creator`. All others have a line `a b` for each edge, with blanks,
tabs, commas or semicolons between; a first line such as `source,target` is a heading.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import MOST_DIGITS, numbered_lines, shown, whole_number

First = Literal["follower", "followed", "both"]
"""Whom a line `a b` of a graph names first; or both, if they follow each other."""
_HEADINGS = frozenset(
    (
        *(
            "source",
            "target",
            "src",
            "dst",
            "from",
            "to",
            "follower",
            "followed",
            "followee",
            "user",
            "friend",
        ),
        *(
            "node1",
            "node2",
            "a",
            "b",
            "u",
            "v",
            "id1",
            "id2",
            "fromnodeid",
            "tonodeid",
            "userid",
            "friendid",
        ),
    )
)
_ENDS = frozenset(("target", "dst", "to", "friend", "node2", "b", "v", "id2", "tonodeid", "friendid"))
"""The headings of the nodes that edges lead to."""
_UNDIRECTED = re.compile(r"#\s*Undirected graph", re.IGNORECASE)
"""The first comment of a file of SNAP whose edges have no direction."""
_TOKEN = re.compile(r'"[^"]*"|\[|\]|[^\s\[\]"]+')
_GML = re.compile(r"(?:graph(?:\s*\[.*)?|Creator\b.*|Version\b.*|comment\b.*)", re.IGNORECASE)


@dataclass(slots=True)
class Edges:
    """The edges of a file, as they are written."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    """The ids of the two nodes of each edge, one after the other."""
    undirected: bool | None = None
    """Whether the file says that its edges have no direction; None if it does not say."""
    said: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    first: First | None = None
    """Whom each line names first, if the heading says that."""


def read_edges(file: Path) -> Edges:
    """Read the edges. Raises TraceError for a missing file or a line that is no edge."""
    comments: list[str] = []
    lines = numbered_lines(file, comments)
    first = next(lines, None)
    if first is None:
        raise TraceError(file, 0, "has no edge")
    text = first[1]
    if text.lower().startswith("%%matrixmarket"):
        return _matrix_market(file, first, lines)
    if text.startswith("%"):
        return _konect(file, first, lines)
    if text.startswith(("<", "{", "[")):
        what = "XML, such as GraphML" if text.startswith("<") else "JSON"
        raise TraceError(file, first[0], f"is {what}. Write a line `a b` for each edge, or the graph as GML")
    if _GML.fullmatch(text):
        return _gml(file, first, lines)
    edges = _plain(file, first, lines)
    if any(_UNDIRECTED.match(comment) for comment in comments):
        edges.undirected = True
    return edges


def _plain(file: Path, first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Edges:
    edges, separator = Edges(), next((mark for mark in ";," if mark in first[1]), None)
    words = _words(first[1], separator)
    if len(words) == 2 and all(_plain_word(word) in _HEADINGS for word in words):
        edges.said.append(f"the heading {shown(first[1])} is left out")
        _take_heading(edges, [_plain_word(word) for word in words], file, first)
    else:
        _add(edges, words, first[1], file, first[0])
    for line, text in lines:
        _add(edges, _words(text, separator), text, file, line)
    _look_for_sizes(edges, first[1])
    return edges


def _take_heading(edges: Edges, words: list[str], file: Path, first: tuple[int, str]) -> None:
    """Note who comes first by the heading. Raises TraceError if edges are written from their end."""
    if words[0] in _ENDS and words[1] not in _ENDS:
        mend = "Swap the columns, or remove the heading"
        text = f"the heading {shown(first[1])} names the end of an edge before its beginning"
        raise TraceError(file, first[0], f"{text}. {mend}")
    if "follower" in words:
        edges.first = "follower" if words[0] == "follower" else "followed"


def _look_for_sizes(edges: Edges, first: str) -> None:
    """Warn if the first line may be the numbers of nodes and edges, as some files have it."""
    nodes, more = edges.ids[:2] if not edges.said and len(edges.ids) > 2 else (0, 0)
    if more == len(edges.ids) // 2 - 1 and nodes == len(set(edges.ids[2:])):
        text = f"the first line is {shown(first)}, and so many nodes and edges follow"
        edges.warnings.append(f"{text}: if it is no edge, remove it")


def _plain_word(word: str) -> str:
    return word.strip('"').lower().replace("_", "").replace("-", "")


def _words(text: str, separator: str | None) -> list[str]:
    return text.split() if separator is None else [word.strip().strip('"') for word in text.split(separator)]


def _add(edges: Edges, words: list[str], text: str, file: Path, line: int) -> None:
    if len(words) != 2:
        mend = "Keep the columns of the two nodes alone"
        text = f"expected two node ids, `a b`, but found {len(words)} words. {mend}"
        raise TraceError(file, line, text)
    try:
        edges.ids.extend((whole_number(words[0]), whole_number(words[1])))
    except ValueError as error:
        problem = f"{shown(text)} is not two whole numbers of at most {MOST_DIGITS} digits"
        raise TraceError(file, line, f"{problem}. Number the nodes") from error


def _konect(file: Path, first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Edges:
    """Read lines `a b`, perhaps with a weight and a time; `% sym`, `% asym` or `% bip` says what an edge
    is."""
    kind = (first[1].removeprefix("%").split() or [""])[0]
    if kind == "bip":
        text = "is a bipartite graph, whose left and right nodes have the same numbers"
        raise TraceError(
            file, first[0], f"{text}. For peers and topics use `editors-file`: lines `topic,peer`"
        )
    edges, more = Edges(undirected={"sym": True, "asym": False}.get(kind)), 0
    for line, text in lines:
        if text.startswith("%"):
            continue
        words = text.split()
        more += len(words) > 2
        _add(edges, words[:2] if len(words) <= 4 else words, text, file, line)
    if more:
        edges.said.append(f"weights and times of {more:,} edges are not used")
    return edges


def _matrix_market(file: Path, first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Edges:
    """Read a line of sizes, then lines `row column`, perhaps with a value."""
    words = first[1].lower().split()
    if words[1:3] != ["matrix", "coordinate"] or len(words) < 5:
        text = f"{shown(first[1])} is no matrix of coordinates. Write a line `a b` for each edge"
        raise TraceError(file, first[0], text)
    edges, sizes, more, size = Edges(undirected=words[4] != "general"), None, 0, 0
    for line, text in lines:
        if text.startswith("%"):
            continue
        parts = text.split()
        if sizes is None:
            sizes = parts
            if len(parts) != 3:
                raise TraceError(file, line, "expected the line `rows columns entries`")
            if parts[0] != parts[1]:
                text = f"is a matrix of {parts[0][:20]} x {parts[1][:20]}, but a graph's is square"
                raise TraceError(file, line, text)
            try:
                size = whole_number(parts[0])
            except ValueError as error:
                raise TraceError(file, line, f"{error}. Write `rows columns entries`") from error
            continue
        more += len(parts) > 2
        _add(edges, parts[:2] if len(parts) <= 3 else parts, text, file, line)
        if not all(1 <= number <= size for number in edges.ids[-2:]):
            text = f"{shown(text)} is outside of the matrix, whose rows and columns are 1 to {size:,}"
            raise TraceError(file, line, f"{text}. Mend the line of sizes, or the entry")
    if sizes is not None and sizes[2] != str(len(edges.ids) // 2):
        text = (
            f"says {sizes[2][:20]} entries, but has {len(edges.ids) // 2:,}. It may be cut off: get it again"
        )
        raise TraceError(file, 0, text)
    if more:
        edges.said.append(f"values of {more:,} entries are not used")
    return edges


def _gml(file: Path, first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Edges:
    """Read blocks `edge [ source a target b ... ]`; `directed 1` says that edges have a direction."""
    edges, inside = Edges(undirected=True), list[str]()
    edge: dict[str, str] = {}
    key, last = "", 0
    for number, text in _all(first, lines):
        last = number
        for word in _TOKEN.findall(text):
            if word == "[":
                inside.append(key)
                key = ""
                if inside[-1] == "edge":
                    edge = {}
            elif word == "]":
                if not inside:
                    raise TraceError(file, number, "has a ] without a [")
                if inside.pop() == "edge":
                    _add_gml(edges, edge, file, number)
            elif word.lower() == "graph" and not inside and edges.ids:
                raise TraceError(file, number, "has a second graph. Keep one in the file")
            elif key and key not in ("node", "edge", "graph"):
                if key == "directed":
                    edges.undirected = word == "0"
                if inside and inside[-1] == "edge":
                    edge[key] = word
                key = ""
            else:
                key = word.lower()
    if inside:
        raise TraceError(file, last, f"ends inside `{inside[-1]} [`. It may be cut off: get it again")
    if not edges.ids:
        raise TraceError(file, 0, "has no edge")
    return edges


def _all(first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from lines


def _add_gml(edges: Edges, edge: dict[str, str], file: Path, line: int) -> None:
    words = [edge[end].strip('"') for end in ("source", "target") if end in edge]
    if len(words) < 2:
        raise TraceError(file, line, "an edge needs `source` and `target`")
    _add(edges, words, " ".join(words), file, line)
