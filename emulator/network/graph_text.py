"""Reads topologies with edges: GML (Shadow's networks, Internet Topology Zoo) and GraphML.

The delay between two nodes is that of the shortest path, and what that path's edges lose is lost. An edge has
a latency, or its nodes have coordinates: then it takes as long as light in a fibre takes for the great circle
between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from emulator.files.input_facts import counted, told
from emulator.files.quantities import parse_duration
from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown
from emulator.network.matrix_text import Table

MOST_NODES: Final = 2000
"""The most nodes: the shortest paths between all take some ten seconds."""
_FIBRE_KM_S: Final = 200_000.0
"""The speed of light in a fibre."""
_EARTH_KM: Final = 6371.0
_TOKEN: Final = re.compile(r'"([^"]*)"|([\[\]])|([^\s\[\]"]+)')
_RATES_OF_EDGES: Final = ("bandwidth", "linkspeed", "linkspeedraw")
_RATES_OF_NODES: Final = ("host_bandwidth_up", "host_bandwidth_down", "bandwidth_up", "bandwidth_down")


@dataclass(frozen=True, slots=True)
class _Record:
    """A node or an edge, with its line."""

    line: int
    values: dict[str, str]

    def get(self, name: str) -> str | None:
        """Return the value of a name in small letters; None if it has none."""
        return self.values.get(name)


def read_graph(file: Path, in_unit: float, longest: float) -> Table:
    """Read the file into one-way delays in its unit, of which a second has `in_unit`.

    `longest` is half an hour in the unit. Raises TraceError.
    """
    return _Graph(file, in_unit, longest).table(*_read(file))


def count_graph(file: Path) -> int:
    """Return the number of nodes that the table of the file has. Raises TraceError for a bad file."""
    nodes, edges, _ = _read(file)
    return len(_placed(file, nodes, edges))


def attribute_of_nodes(file: Path, attribute: str, asked_by: str) -> list[tuple[int, str]]:
    """Return the line of each node of the table, and what it has as this attribute, which a key asks for.

    Raises TraceError for a bad file, or a node without the attribute.
    """
    nodes, edges, _ = _read(file)
    found = []
    for node in _placed(file, nodes, edges):
        value = node.get(attribute.lower())
        if not value:
            others = ", ".join(sorted(node.values))
            text = f'the node has no "{attribute}", which `{asked_by}` asks for. It has {others}'
            raise TraceError(file, node.line, f"{text}. Give it, or name another one")
        found.append((node.line, value))
    return found


def _read(file: Path) -> tuple[list[_Record], list[_Record], bool]:
    """Return the nodes and edges of a file, and whether edges have a direction."""
    text = _text(file)
    return _xml(file, text) if text.lstrip().startswith("<") else _gml(file, text)


def _has_latencies(edges: list[_Record]) -> bool:
    return any(edge.get("latency") is not None for edge in edges)


def _placed(file: Path, nodes: list[_Record], edges: list[_Record]) -> list[_Record]:
    """Return the nodes at which peers can stand: all, or those with coordinates where no edge has a
    latency."""
    by_latency = _has_latencies(edges)
    placed = nodes if by_latency else [node for node in nodes if _place(node) is not None]
    if not 2 <= len(placed) <= MOST_NODES:
        what = "nodes" if by_latency else "nodes with a Latitude and a Longitude (no edge has a latency)"
        raise TraceError(file, 0, f"has {len(placed):,} {what}; a topology needs 2 to {MOST_NODES:,}")
    return placed


def _text(file: Path) -> str:
    """Return the text of the file; a line that is left out is empty, so that numbers of lines stay."""
    lines: list[str] = []
    for number, line in numbered_lines(file):
        lines += [""] * (number - 1 - len(lines))
        lines.append(line)
    return "\n".join(lines)


class _Graph:
    def __init__(self, file: Path, in_unit: float, longest: float) -> None:
        self._file = file
        self._in_unit = in_unit
        self._longest = longest

    def table(self, nodes: list[_Record], edges: list[_Record], directed: bool) -> Table:
        by_latency, placed = _has_latencies(edges), _placed(self._file, nodes, edges)
        number: dict[str, int] = {}
        for index, node in enumerate(placed):
            if number.setdefault(node.get("id") or "", index) != index:
                raise TraceError(
                    self._file, node.line, f"the node {shown(node.get('id') or '')} is there twice"
                )
        known = {node.get("id") for node in nodes}
        delays = np.full((len(placed),) * 2, np.inf)
        arrives = np.ones((len(placed),) * 2)
        loops = 0
        for edge in edges:
            ends = [edge.get("source"), edge.get("target")]
            for end in ends:
                if end not in known:
                    text = f"an edge to {shown(str(end))}, which is no node"
                    raise TraceError(self._file, edge.line, text)
            if ends[0] not in number or ends[1] not in number:
                continue
            i, j = number[ends[0] or ""], number[ends[1] or ""]
            if i == j:
                loops += 1
                continue
            delay = self._latency(edge) if by_latency else self._distance(placed[i], placed[j])
            kept = 1.0 - self._loss(edge)
            for one, other in ((i, j),) if directed else ((i, j), (j, i)):
                if delay < delays[one, other]:
                    delays[one, other], arrives[one, other] = delay, kept
        np.fill_diagonal(delays, 0.0)
        _shorten(delays, arrives)
        apart = np.argwhere(~np.isfinite(delays))
        if len(apart):
            names = [shown(placed[int(k)].get("label") or placed[int(k)].get("id") or "") for k in apart[0]]
            raise TraceError(
                self._file, 0, f"no path leads from {names[0]} to {names[1]}. Remove one of them"
            )
        said = self._said(nodes, placed, edges, loops, by_latency)
        return Table(delays, [node.line for node in placed], said, (), 1.0 - arrives)

    def _said(
        self, nodes: list[_Record], placed: list[_Record], edges: list[_Record], loops: int, by_latency: bool
    ) -> tuple[str, ...]:
        of_edges = " and ".join(name for name in _RATES_OF_EDGES if any(name in e.values for e in edges))
        of_nodes = " and ".join(name for name in _RATES_OF_NODES if any(name in n.values for n in nodes))
        jitter = any("jitter" in edge.values for edge in edges)
        left = len(nodes) - len(placed)
        fibre = f"light in a fibre, {_FIBRE_KM_S:,.0f} km/s, along great circles"
        own = f"{counted(loops, 'edge')} of a node to itself not used: see `same_host_rtt`"
        lossy = sum(self._loss(edge) > 0 for edge in edges)
        return told(
            (
                f"{counted(len(edges), 'edge')}; the shortest paths count",
                None if by_latency else f"no edge has a latency: delays are those of {fibre}",
                f"{counted(left, 'node')} without coordinates left out" if left else None,
                own if loops else None,
                f"{counted(lossy, 'edge')} with packet_loss: what a path's edges lose is lost"
                if lossy
                else None,
                f"{of_edges} of edges not used, because only links of peers have rates: give them by `up` "
                "and `down` of `network.bandwidth`, or by classes of peers with `places`"
                if of_edges
                else None,
                f"{of_nodes} of nodes not used for delays: `network.bandwidth.nodes` gives them to peers"
                if of_nodes
                else None,
                "jitter of edges not used: see `network.jitter`" if jitter else None,
            )
        )

    def _latency(self, edge: _Record) -> float:
        """Return the latency of an edge in the file's unit."""
        given = edge.get("latency")
        if given is None:
            raise TraceError(self._file, edge.line, "the edge has no latency, but others have one. Give it")
        try:
            delay = float(given)
        except ValueError:
            try:
                delay = parse_duration(given) * self._in_unit
            except ValueError:
                mend = "Write a number, or one with a unit, such as 10 ms"
                raise TraceError(self._file, edge.line, f"the latency {shown(given)}. {mend}") from None
        if not 0 <= delay <= self._longest:
            text = f"the latency {shown(given)} is below 0, or more than half an hour"
            raise TraceError(self._file, edge.line, f"{text}. If it has another unit, say so by `unit`")
        return delay

    def _loss(self, edge: _Record) -> float:
        """Return the share of messages that an edge loses, 0 if it says nothing of it."""
        given = edge.get("packet_loss")
        if given is None:
            return 0.0
        try:
            share = float(given)
        except ValueError:
            share = math.nan
        if not 0 <= share < 1:
            text = f"the packet_loss {shown(given)} is no share from 0 to below 1, such as 0.01"
            raise TraceError(self._file, edge.line, text)
        return share

    def _distance(self, one: _Record, other: _Record) -> float:
        here, there = _place(one), _place(other)
        assert here is not None and there is not None
        return _great_circle(here, there) / _FIBRE_KM_S * self._in_unit


def _place(node: _Record) -> tuple[float, float] | None:
    """Return latitude and longitude in radians, None if the node has none."""
    try:
        latitude, longitude = float(node.values["latitude"]), float(node.values["longitude"])
    except (KeyError, ValueError):
        return None
    return math.radians(latitude), math.radians(longitude)


def _great_circle(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the way between two places in km, by the haversine formula."""
    north, east = (b - a for a, b in zip(one, other, strict=True))
    half = math.sin(north / 2) ** 2 + math.cos(one[0]) * math.cos(other[0]) * math.sin(east / 2) ** 2
    return 2 * _EARTH_KM * math.asin(min(1.0, math.sqrt(half)))


def _shorten(delays: NDArray[np.float64], arrives: NDArray[np.float64]) -> None:
    """Replace the delays of edges, and the shares that arrive over them, by those of shortest paths, in place
    (Floyd, CACM 5(6), 1962)."""
    lossy = bool((arrives < 1).any())
    for via in range(len(delays)):
        over = delays[:, via, None] + delays[None, via, :]
        if lossy:
            shorter = over < delays
            arrives[shorter] = (arrives[:, via, None] * arrives[None, via, :])[shorter]
        np.minimum(delays, over, out=delays)


def _gml(file: Path, text: str) -> tuple[list[_Record], list[_Record], bool]:
    """Return the nodes and edges of GML, and whether edges have a direction."""
    nodes: list[_Record] = []
    edges: list[_Record] = []
    directed = False
    open_: list[tuple[str, _Record]] = []
    key = ""
    for line, token, quoted in _tokens(text):
        if not quoted and token == "[":
            open_.append((key, _Record(line, {})))
            key = ""
        elif not quoted and token == "]":
            if not open_:
                raise TraceError(file, line, "a ] without its [")
            name, record = open_.pop()
            if name in ("node", "edge") and len(open_) == 1:
                (nodes if name == "node" else edges).append(record)
        elif not key:
            key = token.lower()
        else:
            if open_:
                open_[-1][1].values.setdefault(key, token)
                directed = directed or (len(open_) == 1 and key == "directed" and token == "1")
            key = ""
    if open_:
        raise TraceError(file, open_[-1][1].line, "a [ without its ]. The file may be cut off: get it again")
    if not nodes:
        raise TraceError(file, 0, "has no `graph [ node [ id ... ] ]`, and is no GraphML either")
    return nodes, edges, directed


def _tokens(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the words of GML with their lines, and whether each was quoted."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in _TOKEN.finditer(line):
            quoted = match.group(1) is not None
            yield number, match.group(1) if quoted else match.group(0), quoted


class _GraphMl:
    """Takes the elements of GraphML as they come."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._names: dict[str, str] = {}
        self._record: _Record | None = None
        self._key = ""
        self.nodes: list[_Record] = []
        self.edges: list[_Record] = []
        self.directed = False

    def parse(self, text: str) -> None:
        try:
            self._parser.Parse(text.encode(), True)
        except expat.ExpatError as error:
            what = expat.errors.messages[error.code]
            raise TraceError(self._file, error.lineno, f"is not XML: {what}. Get the file again") from None

    def _doctype(self, *given: object) -> None:
        line = self._parser.CurrentLineNumber
        raise TraceError(self._file, line, "a DOCTYPE, which GraphML does not need. Remove it")

    def _start(self, tag: str, given: dict[str, str]) -> None:
        name, line = tag.rpartition(":")[2], self._parser.CurrentLineNumber
        if name == "key":
            self._names[given.get("id", "")] = given.get("attr.name", "").lower()
        elif name == "graph":
            self.directed = given.get("edgedefault") == "directed"
        elif name in ("node", "edge"):
            self._record = _Record(line, {key.lower(): value for key, value in given.items()})
            (self.nodes if name == "node" else self.edges).append(self._record)
        elif name == "data" and self._record is not None:
            self._key = self._names.get(given.get("key", ""), given.get("key", "").lower())

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        self._key = ""
        if name in ("node", "edge"):
            self._record = None

    def _data(self, text: str) -> None:
        if self._record is not None and self._key:
            self._record.values[self._key] = (self._record.values.get(self._key, "") + text).strip()


def _xml(file: Path, text: str) -> tuple[list[_Record], list[_Record], bool]:
    """Return the nodes and edges of GraphML, and whether edges have a direction."""
    reader = _GraphMl(file)
    reader.parse(text)
    if not reader.nodes:
        raise TraceError(file, 0, "has no node of GraphML")
    return reader.nodes, reader.edges, reader.directed
