"""Relay paths towards rendezvous nodes (Vitis, section III.B), kept as Scribe keeps its trees.

A peer that wants a topic's events asks the next hop towards hash(t) to relay the topic; that peer
asks its own next hop, up to the rendezvous node. The paper leaves open how long relay state lives:
each request makes a link for `lifetime` at both its ends, and is repeated each round by everyone on
the path, so a path heals where it broke and fades where nobody needs it.
"""

from __future__ import annotations

from collections.abc import Iterable

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
        # topic -> peer -> (when the link ends, hops of the longest path from a gateway to here)
        self._below: dict[int, dict[int, tuple[float, int]]] = {}
        # topic -> peer -> when the link ends
        self._above: dict[int, dict[int, float]] = {}

    def handlers(self) -> dict[type[Message], Handler]:
        return {RelayRequest: self._on_request}

    def clear(self) -> None:
        """Forget all paths."""
        self._wanted.clear()
        self._below.clear()
        self._above.clear()

    def refresh(self, wanted: set[int]) -> None:
        """A round: ask again for the topics that this peer `wanted` itself or relays for others."""
        now = self._environment.now
        self._wanted = wanted
        for links in (self._below, self._above):
            self._drop_ended(links, now)
        self._request(wanted | self._below.keys())

    def links(self, topic: int) -> set[int]:
        """The peers next to this one on the topic's relay paths."""
        now = self._environment.now
        linked = {peer for peer, (ends, _) in self._below.get(topic, {}).items() if ends >= now}
        linked.update(peer for peer, ends in self._above.get(topic, {}).items() if ends >= now)
        return linked

    def is_relay(self, topic: int) -> bool:
        """Whether this peer is on a relay path of the topic."""
        return bool(self.links(topic))

    def on_unreachable(self, peer: int) -> None:
        """Take another next hop at once for the topics that were relayed through `peer`."""
        cut_off = [topic for topic, peers in self._above.items() if peers.pop(peer, None) is not None]
        for peers in self._below.values():
            peers.pop(peer, None)
        self._request(topic for topic in cut_off if topic in self._wanted or self._below.get(topic))

    def path_hops(self) -> list[int]:
        """Hops of the longest relay path of each topic that this peer is the rendezvous node of."""
        return [
            max(hops for _, hops in peers.values())
            for topic, peers in self._below.items()
            if peers and self._overlay.next_hop(identifiers.of_topic(topic)) is None
        ]

    def _request(self, topics: Iterable[int]) -> None:
        by_hop: dict[int, list[int]] = {}
        next_hop = self._overlay.next_hop
        of_topic = identifiers.of_topic
        for topic in topics:
            hop = next_hop(of_topic(topic))
            if hop is not None:
                by_hop.setdefault(hop, []).append(topic)
        ends = self._environment.now + self._lifetime
        for hop, asked in by_hop.items():
            for topic in asked:
                self._above.setdefault(topic, {})[hop] = ends
            hops = [self._longest_below(topic) + 1 for topic in asked]
            self._environment.send(hop, RelayRequest(topics=asked, hops=hops))

    def _longest_below(self, topic: int) -> int:
        below = self._below.get(topic)
        return max([hops for _, hops in below.values()], default=0) if below else 0

    def _on_request(self, sender: int, message: RelayRequest) -> None:
        ends = self._environment.now + self._lifetime
        new = []
        for topic, hops in zip(message.topics, message.hops, strict=True):
            below = self._below.get(topic)
            if below is None:
                below = self._below[topic] = {}
                if topic not in self._wanted:
                    new.append(topic)
            below[sender] = (ends, hops)
        if new:
            self._request(new)

    @staticmethod
    def _drop_ended(
        links: dict[int, dict[int, tuple[float, int]]] | dict[int, dict[int, float]], now: float
    ) -> None:
        for topic in list(links):
            peers = links[topic]
            for peer in [p for p, e in peers.items() if (e if isinstance(e, float) else e[0]) < now]:
                del peers[peer]
            if not peers:
                del links[topic]
