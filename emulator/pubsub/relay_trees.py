"""Relay paths towards rendezvous nodes (Vitis, section III.B), kept as Scribe keeps its trees.

A peer that wants a topic's events asks the next hop towards hash(t) to relay the topic; that peer
asks its own next hop, up to the rendezvous node. The paper leaves open how long relay state lives:
each request makes a link for `lifetime` at both its ends, and is repeated each round by everyone on
the path, so a path heals where it broke and fades where nobody needs it.
"""

from __future__ import annotations

from collections import deque

from google.protobuf.message import Message
from trellis.v1.pubsub_pb2 import RelayRequest

from emulator import identifiers
from emulator.protocol import Environment, Handler, Overlay


class _Below:
    """What a peer below this one asks to be relayed."""

    __slots__ = ("ends", "request", "topics")

    def __init__(self) -> None:
        self.topics: dict[int, int] = {}
        """Topic -> hops of the longest path through that peer to here."""
        self.ends = 0.0
        self.request: RelayRequest | None = None
        """The request that says all this, if one does."""


class RelayTrees:
    """This peer's part in the relay paths of all topics.

    A peer's request tells all the topics that it asks the receiver for. In a network at rest it is
    the same each round, and renewing a link is comparing two messages.
    """

    def __init__(self, environment: Environment, overlay: Overlay, lifetime: float) -> None:
        """`lifetime` of a relay link without renewal, in seconds."""
        self._environment = environment
        self._overlay = overlay
        self._lifetime = lifetime
        self._wanted: set[int] = set()
        self._below: dict[int, _Below] = {}
        self._above: dict[int, int] = {}
        self._requests: dict[int, RelayRequest] = {}
        self._routes_version = -1
        self._changed = False
        # Links that are renewed no more: (when they end, topic -> peer).
        self._fading: deque[tuple[float, dict[int, int]]] = deque()

    def handlers(self) -> dict[type[Message], Handler]:
        return {RelayRequest: self._on_request}

    def clear(self) -> None:
        """Forget all paths."""
        self._wanted = set()
        self._below.clear()
        self._above.clear()
        self._requests.clear()
        self._fading.clear()
        self._changed = True

    def refresh(self, wanted: set[int]) -> None:
        """A round: ask again for the topics that this peer `wanted` itself or relays for others."""
        now = self._environment.now
        while self._fading and self._fading[0][0] < now:
            self._fading.popleft()
        for peer in [peer for peer, below in self._below.items() if below.ends < now]:
            del self._below[peer]
            self._changed = True
        if self._changed or wanted != self._wanted or self._overlay.routes_version != self._routes_version:
            self._wanted = wanted
            self._prepare_requests()
        for hop, request in self._requests.items():
            self._environment.send(hop, request)

    def links(self, topic: int) -> set[int]:
        """The peers next to this one on the topic's relay paths."""
        now = self._environment.now
        linked = {peer for peer, below in self._below.items() if topic in below.topics and below.ends >= now}
        linked.update([peers[topic] for ends, peers in self._fading if ends >= now and topic in peers])
        if topic in self._above:
            linked.add(self._above[topic])
        return linked

    def on_unreachable(self, peer: int) -> None:
        """Take another next hop at once for the topics that were relayed through `peer`."""
        for _, peers in self._fading:
            for topic in [topic for topic, other in peers.items() if other == peer]:
                del peers[topic]
        cut_off = {topic for topic, hop in self._above.items() if hop == peer}
        self._changed = self._changed or bool(cut_off) or peer in self._below
        self._below.pop(peer, None)
        self._requests.pop(peer, None)
        for topic in cut_off:
            del self._above[topic]
        self._add({topic: hops for topic, hops in self._longest().items() if topic in cut_off})

    def path_hops(self) -> list[int]:
        """Hops of the longest relay path of each topic that this peer is the rendezvous node of."""
        next_hop = self._overlay.next_hop
        return [
            hops for topic, hops in self._longest().items() if next_hop(identifiers.of_topic(topic)) is None
        ]

    def _longest(self) -> dict[int, int]:
        """Topic -> hops of the longest path from a gateway to here, 0 if this is the only one."""
        longest = dict.fromkeys(self._wanted, 0)
        known = longest.get
        for below in self._below.values():
            for topic, hops in below.topics.items():
                if hops > known(topic, -1):
                    longest[topic] = hops
        return longest

    def _prepare_requests(self) -> None:
        self._changed = False
        self._routes_version = self._overlay.routes_version
        above, self._above = self._above, {}
        self._requests = self._assign(self._longest(), addition=False)
        self._fade({topic: hop for topic, hop in above.items() if self._above.get(topic) != hop})

    def _add(self, topics: dict[int, int]) -> None:
        """Ask at once; the next round's requests will include it."""
        if topics:
            self._changed = True
            for hop, request in self._assign(topics, addition=True).items():
                self._environment.send(hop, request)

    def _assign(self, topics: dict[int, int], *, addition: bool) -> dict[int, RelayRequest]:
        """Choose the next hop of each topic; the requests to send, by next hop."""
        next_hop = self._overlay.next_hop
        of_topic = identifiers.of_topic
        above = self._above
        by_hop: dict[int, tuple[list[int], list[int]]] = {}
        for topic, hops in topics.items():
            hop = next_hop(of_topic(topic))
            if hop is None:
                continue
            above[topic] = hop
            asked = by_hop.get(hop)
            if asked is None:
                by_hop[hop] = ([topic], [hops + 1])
            else:
                asked[0].append(topic)
                asked[1].append(hops + 1)
        return {
            hop: RelayRequest(topics=asked, hops=hops, addition=addition)
            for hop, (asked, hops) in by_hop.items()
        }

    def _on_request(self, sender: int, message: RelayRequest) -> None:
        below = self._below.get(sender)
        ends = self._environment.now + self._lifetime
        if below is None:
            below = self._below[sender] = _Below()
        elif message is below.request or message == below.request:
            below.ends = ends
            return
        asked = dict(zip(message.topics, message.hops, strict=True))
        if message.addition:
            below.topics = below.topics | asked
            below.request = None
        else:
            self._fade(dict.fromkeys(below.topics.keys() - asked.keys(), sender))
            below.topics = asked
            below.request = message
        below.ends = ends
        self._changed = True
        self._add({topic: hops for topic, hops in asked.items() if not self._relays(topic)})

    def _relays(self, topic: int) -> bool:
        return topic in self._above or topic in self._wanted

    def _fade(self, links: dict[int, int]) -> None:
        if links:
            self._fading.append((self._environment.now + self._lifetime, links))
