"""The delivery tree of one publication: hop by hop, how an event reached its peers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.charts.results import ResultsError
from analysis.otlp.message_kinds import EVENT, NOTIFICATION

_COLUMN, _ROW, _LEFT, _TOP = 128, 27, 22, 34
_DIGIT, _BEND = 7, 28


@dataclass(slots=True)
class Node:
    """A peer that the event reached."""

    peer: int
    sender: int | None
    """The peer that sent the event; None at the publisher."""
    interested: bool
    delivered: bool
    arrived_s: float
    steps: list[tuple[str, float]] = field(default_factory=list)
    """The messages of this hop and the time (ms) that each took, such as Notification, Pull, EventData."""
    delay_ms: float = 0.0
    """The time (ms) from the event's arrival at the sender to its arrival here."""
    children: list[Node] = field(default_factory=list)
    depth: int = 0
    """The number of hops from the publisher."""

    @property
    def kind(self) -> str:
        if self.sender is None:
            return "publisher"
        return "subscriber" if self.interested else "relay"

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, in the order in which they are drawn."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


@dataclass(frozen=True, slots=True)
class DeliveryTree:
    """The first arrival of one event at each peer."""

    event: int
    topic: int | None
    root: Node
    astray: list[Node]
    """The peers that got the event from a peer whose own copy was not recorded."""
    repeated: int
    """The number of further copies (messages, without a topic) at peers that had the event."""
    told: int
    """The number of notifications that led to no copy. A question back to the notifying peer does
    not count."""

    @property
    def nodes(self) -> list[Node]:
        return list(self.root.walk())


def build_tree(hops: Sequence[Mapping[str, Any]]) -> DeliveryTree:
    """Return the tree of a publication, given the rows of its trace, and of messages that recovered it.

    An edge is the first copy of the event that a peer received; where the copy was pulled, the notification
    and the pull before it are steps of the same hop. An event without a topic is carried to subscribers by
    peers that were asked who they are: there, an edge is the first message. Raises ResultsError if the trace
    has no root.
    """
    roots = [hop for hop in hops if hop["parent"] is None]
    if len(roots) != 1:
        raise ResultsError(f"a publish trace has {len(roots)} root spans instead of one")
    (root_hop,) = roots
    root = Node(root_hop["peer"], None, True, False, root_hop["handled_s"])
    spans = {hop["span"]: hop for hop in hops}
    messages = [hop for hop in hops if hop["sender"] is not None]
    copies = messages
    if root_hop["topic"] is not None:
        copies = [hop for hop in messages if hop["kind"] == EVENT] or messages
    copies.sort(key=lambda hop: (hop["handled_s"], hop["span"]))
    nodes: dict[int, Node] = {root.peer: root}
    astray: list[Node] = []
    chained: set[int] = set()
    repeated = 0
    for hop in copies:
        chain = _chain(hop, spans)
        chained.update(step["span"] for step in chain)
        if hop["peer"] in nodes:
            repeated += 1
            continue
        steps = [(step["message"], (step["handled_s"] - step["sent_s"]) * 1000) for step in chain]
        node = Node(
            hop["peer"], hop["sender"], bool(hop["interested"]), hop["delivered"], hop["handled_s"], steps
        )
        nodes[node.peer] = node
        above = nodes.get(hop["sender"])
        if above is None or above is node:
            node.delay_ms = (hop["handled_s"] - hop["sent_s"]) * 1000
            astray.append(node)
            continue
        node.delay_ms = (node.arrived_s - above.arrived_s) * 1000
        node.depth = above.depth + 1
        above.children.append(node)
    told = sum(
        hop["kind"] == NOTIFICATION and hop["span"] not in chained and not _asks_back(hop, spans)
        for hop in messages
    )
    return DeliveryTree(root_hop["event"], root_hop["topic"], root, astray, repeated, told)


def _asks_back(hop: Mapping[str, Any], spans: Mapping[int, Mapping[str, Any]]) -> bool:
    """Return whether the message went to the peer whose message caused it."""
    before = spans.get(hop["parent"])
    return before is not None and (before["sender"], before["peer"]) == (hop["peer"], hop["sender"])


def _chain(hop: Mapping[str, Any], spans: Mapping[int, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the exchange between two peers that ends with `hop`, oldest message first."""
    pair = {hop["peer"], hop["sender"]}
    chain, seen = [hop], {hop["message"]}
    while (before := spans.get(chain[0]["parent"])) is not None:
        if {before["peer"], before["sender"]} != pair or before["message"] in seen:
            break
        chain.insert(0, before)
        seen.add(before["message"])
    return chain


@dataclass(frozen=True, slots=True)
class Spot:
    """A node with its place in the drawing and the curve from its sender."""

    node: Node
    x: float
    y: float
    curve: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A delivery tree, laid out: hops from left to right, siblings from top to bottom."""

    tree: DeliveryTree
    trial: str
    spots: list[Spot]
    columns: list[tuple[float, int]]
    """The number of hops and the horizontal position of each column."""
    width: float
    height: float
    missed: list[int]
    """The peers that should have received the event and did not."""
    delivered: int = 0
    """The number of peers to which the event was delivered."""
    why: str = ""
    """The reason for which the event was chosen, such as "the slowest publication"."""
    link: str = ""
    """The address of the event's trace in a backend, "" if none was given."""

    @property
    def is_measured(self) -> bool:
        """This is true if any message tells how the event came to those that got it."""
        return len(self.tree.nodes) > 1 or bool(self.tree.astray) or not self.delivered


def draw(
    tree: DeliveryTree,
    trial: str = "",
    missed: Sequence[int] = (),
    delivered: int = 0,
    why: str = "",
    link: str = "",
) -> Drawing:
    """Lay a tree out: leaves on rows of their own, every other node in the middle of its children."""
    nodes = tree.nodes
    rows: dict[int, float] = {}
    for row, leaf in enumerate(node for node in nodes if not node.children):
        rows[leaf.peer] = float(row)
    leaves = len(rows)
    for node in reversed(nodes):
        if node.children:
            rows[node.peer] = (rows[node.children[0].peer] + rows[node.children[-1].peer]) / 2
    above = {child.peer: node for node in nodes for child in node.children}

    def place(node: Node) -> tuple[float, float]:
        return _LEFT + node.depth * _COLUMN, round(_TOP + rows[node.peer] * _ROW + 14, 1)

    spots = []
    for node in nodes:
        x, y = place(node)
        curve = ""
        if node.peer in above:
            from_x, from_y = place(above[node.peer])
            out = from_x + 16 + _DIGIT * len(str(above[node.peer].peer))
            curve = (
                f"M{out:g} {from_y:g}C{out + 18:g} {from_y:g} {out + 10:g} {y:g} {out + _BEND:g} {y:g}H{x:g}"
            )
        spots.append(Spot(node, x, y, curve))
    deepest = max(node.depth for node in nodes)
    columns = [(float(_LEFT + depth * _COLUMN), depth) for depth in range(deepest + 1)]
    return Drawing(
        tree,
        trial,
        spots,
        columns,
        _LEFT + deepest * _COLUMN + 70,
        _TOP + leaves * _ROW + 12,
        list(missed),
        delivered,
        why,
        link,
    )
