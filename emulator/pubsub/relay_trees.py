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
from emulator.gossip.descriptor import bit_set, bits
from emulator.protocol import Environment, Handler, Overlay


class _Below:
    """What a peer below this one asks to be relayed."""

    __slots__ = ("ends", "request", "topics")

    def __init__(self) -> None:
        self.topics = 0
        """A bit set."""
        self.ends = 0.0
        self.request: RelayRequest | None = None
        """The request that says all this, if one does."""


class RelayTrees:
    """This peer's part in the relay paths of all topics.

    A peer's request tells all the topics that it asks the receiver for. In a network at rest it is
    the same each round, and renewing a link is comparing two messages. Sets of topics are bit sets:
    bit t is set for topic t.
    """

    def __init__(self, environment: Environment, overlay: Overlay, lifetime: float) -> None:
        """`lifetime` of a relay link without renewal, in seconds."""
        self._environment = environment
        self._overlay = overlay
        self._lifetime = lifetime
        self._wanted = 0
        self._below: dict[int, _Below] = {}
        self._above: dict[int, int] = {}
        """Next hop -> the topics that it is asked for."""
        self._asked = 0
        """All topics that this peer relays or wants."""
        self._requests: dict[int, RelayRequest] = {}
        self._routes_version = -1
        self._changed = False
        # Links that are renewed no more: (when they end, peer, topics).
        self._fading: deque[tuple[float, int, int]] = deque()

    def handlers(self) -> dict[type[Message], Handler]:
        return {RelayRequest: self._on_request}

    def clear(self) -> None:
        """Forget all paths."""
        self._wanted = self._asked = 0
        for state in (self._below, self._above, self._requests, self._fading):
            state.clear()
        self._changed = True

    def refresh(self, wanted: int) -> None:
        """A round: ask again for the topics that this peer wants itself, a bit set, or relays for others."""
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
        bit = 1 << topic
        linked = {peer for peer, below in self._below.items() if below.topics & bit and below.ends >= now}
        linked.update([peer for ends, peer, topics in self._fading if ends >= now and topics & bit])
        linked.update([hop for hop, topics in self._above.items() if topics & bit])
        return linked

    def on_unreachable(self, peer: int) -> None:
        """Take another next hop at once for the topics that were relayed through `peer`."""
        self._fading = deque(link for link in self._fading if link[1] != peer)
        if self._below.pop(peer, None):
            self._changed = True
        self._requests.pop(peer, None)
        self._add(self._above.pop(peer, 0))

    def relayed(self) -> int:
        """The topics that this peer relays for others, a bit set."""
        relayed = 0
        for below in self._below.values():
            relayed |= below.topics
        return relayed

    def _prepare_requests(self) -> None:
        self._changed = False
        self._routes_version = self._overlay.routes_version
        above, self._above = self._above, {}
        self._asked = self._wanted | self.relayed()
        self._requests = self._assign(self._asked, addition=False)
        for hop, topics in above.items():
            self._fade(hop, topics & ~self._above.get(hop, 0))

    def _add(self, topics: int) -> None:
        """Ask at once; the next round's requests will include it."""
        if topics:
            self._changed = True
            self._asked |= topics
            for hop, request in self._assign(topics, addition=True).items():
                self._environment.send(hop, request)

    def _assign(self, topics: int, *, addition: bool) -> dict[int, RelayRequest]:
        """Choose the next hop of each topic; the requests to send, by next hop."""
        next_hop = self._overlay.next_hop
        of_topic = identifiers.of_topic
        by_hop: dict[int | None, list[int]] = {}
        for topic in bits(topics):
            hop = next_hop(of_topic(topic))
            if hop in by_hop:
                by_hop[hop].append(topic)
            else:
                by_hop[hop] = [topic]
        requests = {}
        for hop, asked in by_hop.items():
            if hop is not None:
                self._above[hop] = self._above.get(hop, 0) | bit_set(asked)
                requests[hop] = RelayRequest(topics=asked, addition=addition)
        return requests

    def _on_request(self, sender: int, message: RelayRequest) -> None:
        ends = self._environment.now + self._lifetime
        below = self._below.get(sender)
        if below is None:
            below = self._below[sender] = _Below()
        elif message is below.request or message == below.request:
            below.ends = ends
            return
        below.ends = ends
        asked = bit_set(message.topics)
        if message.addition:
            below.topics |= asked
            below.request = None
        else:
            self._fade(sender, below.topics & ~asked)
            below.topics = asked
            below.request = message
        self._changed = True
        self._add(asked & ~self._asked)

    def _fade(self, peer: int, topics: int) -> None:
        if topics:
            self._fading.append((self._environment.now + self._lifetime, peer, topics))
