"""Relay paths towards rendezvous nodes (Vitis, section III.B), kept as Scribe keeps its trees.

A peer that wants a topic's events asks the next hop towards hash(t) to relay the topic; that peer
asks its own next hop, up to the rendezvous node. The paper leaves open how long relay state lives:
each request makes a link for `lifetime` at both its ends, and is repeated each round by everyone on
the path, so a path heals where it broke and fades where nobody needs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Set

from google.protobuf.message import Message
from trellis.v1.pubsub_pb2 import RelayRequest

from emulator import identifiers
from emulator.protocol import Environment, Handler, Overlay


class RelayTrees:
    """This peer's part in the relay paths of all topics."""

    def __init__(self, environment: Environment, overlay: Overlay, lifetime: float) -> None:
        """`lifetime` of a relay link without renewal, in seconds."""
        self._environment = environment
        self._overlay = overlay
        self._lifetime = lifetime
        self._wanted: set[int] = set()
        # topic -> peer below -> when the link ends; and hops of the longest path through it to here
        self._below: dict[int, dict[int, float]] = {}
        self._below_hops: dict[int, dict[int, int]] = {}
        # (when the links end, topic -> peer above), a pair for each request round
        self._above: deque[tuple[float, dict[int, int]]] = deque()

    def handlers(self) -> dict[type[Message], Handler]:
        return {RelayRequest: self._on_request}

    def clear(self) -> None:
        """Forget all paths."""
        self._wanted = set()
        self._below.clear()
        self._below_hops.clear()
        self._above.clear()

    def refresh(self, wanted: set[int]) -> None:
        """A round: ask again for the topics that this peer `wanted` itself or relays for others."""
        self._wanted = wanted
        self._drop_ended()
        self._request(wanted | self._below.keys())

    def links(self, topic: int) -> set[int]:
        """The peers next to this one on the topic's relay paths."""
        now = self._environment.now
        linked = {hops[topic] for ends, hops in self._above if ends >= now and topic in hops}
        below = self._below.get(topic)
        if below:
            linked.update([peer for peer, ends in below.items() if ends >= now])
        return linked

    def on_unreachable(self, peer: int) -> None:
        """Take another next hop at once for the topics that were relayed through `peer`."""
        cut_off = set()
        for _, hops in self._above:
            for topic in [topic for topic, hop in hops.items() if hop == peer]:
                del hops[topic]
                cut_off.add(topic)
        for topic in [topic for topic, peers in self._below.items() if peer in peers]:
            self._remove_below(topic, peer)
        self._request({topic for topic in cut_off if topic in self._wanted or topic in self._below})

    def path_hops(self) -> list[int]:
        """Hops of the longest relay path of each topic that this peer is the rendezvous node of."""
        return [
            max(hops.values())
            for topic, hops in self._below_hops.items()
            if self._overlay.next_hop(identifiers.of_topic(topic)) is None
        ]

    def _request(self, topics: Set[int]) -> None:
        next_hop = self._overlay.next_hop
        of_topic = identifiers.of_topic
        below_hops = self._below_hops
        above: dict[int, int] = {}
        by_hop: dict[int, tuple[list[int], list[int]]] = {}
        for topic in topics:
            hop = next_hop(of_topic(topic))
            if hop is None:
                continue
            above[topic] = hop
            asked = by_hop.get(hop)
            if asked is None:
                asked = by_hop[hop] = ([], [])
            asked[0].append(topic)
            below = below_hops.get(topic)
            asked[1].append(max(below.values()) + 1 if below else 1)
        if above:
            self._above.append((self._environment.now + self._lifetime, above))
        for hop, (asked_topics, hops) in by_hop.items():
            self._environment.send(hop, RelayRequest(topics=asked_topics, hops=hops))

    def _on_request(self, sender: int, message: RelayRequest) -> None:
        ends = self._environment.now + self._lifetime
        below, below_hops = self._below, self._below_hops
        new = set()
        for topic, hops in zip(message.topics, message.hops, strict=True):
            peers = below.get(topic)
            if peers is None:
                below[topic] = {sender: ends}
                below_hops[topic] = {sender: hops}
                if topic not in self._wanted:
                    new.add(topic)
            else:
                peers[sender] = ends
                below_hops[topic][sender] = hops
        if new:
            self._request(new)

    def _drop_ended(self) -> None:
        now = self._environment.now
        while self._above and self._above[0][0] < now:
            self._above.popleft()
        for topic in [topic for topic, peers in self._below.items() if min(peers.values()) < now]:
            for peer in [peer for peer, ends in self._below[topic].items() if ends < now]:
                self._remove_below(topic, peer)

    def _remove_below(self, topic: int, peer: int) -> None:
        peers = self._below[topic]
        del peers[peer]
        del self._below_hops[topic][peer]
        if not peers:
            del self._below[topic]
            del self._below_hops[topic]
