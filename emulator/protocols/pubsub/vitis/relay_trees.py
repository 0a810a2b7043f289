"""Relay paths towards rendezvous nodes (Vitis, section III.B), kept as Scribe keeps its trees.

A peer that wants a topic's events asks the next hop towards hash(t) to relay the topic; that peer asks its
own next hop, up to the rendezvous node. The paper leaves open how long relay state lives. Here each request
makes a link for `lifetime` at both its ends, and every peer on the path repeats it each round, so a path
heals where it broke and fades where no peer needs it.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final
from typing import Protocol as Interface

from emulator.contract.protocol import Environment
from trellis.v1.pubsub import RelayRequest

_UNKNOWN: Final = -1


class TopicRoutes(Interface):
    """Any overlay that knows the next hops of many topics at once."""

    routes_version: int
    """A number that changes whenever `next_hops` may answer otherwise than before."""

    def next_hops(self, topics: int) -> dict[int, int]:
        """Return the topics of a bit set by the next hop towards their rendezvous nodes, without those that
        end here."""
        ...


class _RelayLink:
    """A link over which one of two peers asks the other to relay topics."""

    __slots__ = ("ends", "peer", "request")

    def __init__(self, peer: int, request: RelayRequest, ends: float) -> None:
        self.peer = peer
        """The peer at the other end."""
        self.request = request
        """The topics that are asked for over the link, as the last request has them."""
        self.ends = ends
        """The time at which the link ends unless it is renewed (s of trial time)."""


class _Fading:
    """Topics that a link between two peers relayed, and that are no longer asked for over it."""

    __slots__ = ("ends", "peer", "topics")

    def __init__(self, peer: int, topics: int, ends: float) -> None:
        self.peer = peer
        """The peer at the other end."""
        self.topics = topics
        self.ends = ends
        """The time at which they are relayed no more (s of trial time)."""


class RelayTrees:
    """This peer's part in the relay paths of all topics.

    A request names all the topics that a peer asks the receiver for. In a network at rest it is the same each
    round, so renewing a link means comparing two sets. Sets of topics are bit sets.
    """

    def __init__(self, environment: Environment, overlay: TopicRoutes, lifetime: float) -> None:
        """`lifetime` is how long a relay link lasts without renewal, in seconds."""
        self._environment = environment
        self._overlay = overlay
        self._lifetime = lifetime
        self._below: dict[int, _RelayLink] = {}
        """The links to the peers that ask this peer now, by peer."""
        self._above: dict[int, _RelayLink] = {}
        """The links to the peers that this peer asks now, by peer."""
        self._fading: deque[_Fading] = deque()
        """The topics that links in either direction no longer ask for, in the order in which they end."""
        self._earliest = math.inf
        """A time before which no link to a peer below ends."""
        self._relayed = 0
        """The topics that are asked for over links below; `_UNKNOWN` if these are to be looked through."""
        self._asked = 0
        """The topics that this peer wants or relays, among them all that links below are about. It asks peers
        above for all of them except those that it is the rendezvous node of."""
        self._routes_version = -1
        environment.handle(RelayRequest, self._on_request)

    def clear(self) -> None:
        """Forget all paths."""
        self._below.clear()
        self._above.clear()
        self._fading.clear()
        self._relayed = 0
        self._asked = 0

    def refresh(self, wanted: int) -> None:
        """Run a round: ask again for the topics that this peer wants (a bit set) or relays."""
        now = self._environment.now
        self._drop_ended(now)
        topics = wanted | self.relayed()
        if topics != self._asked or self._routes_version != self._overlay.routes_version:
            self._choose_above(topics)
        ends = now + self._lifetime
        for hop, link in self._above.items():
            link.ends = ends
            self._environment.send(hop, link.request)

    def relayed(self) -> int:
        """Return the topics that this peer relays for others, as a bit set."""
        if self._relayed == _UNKNOWN:
            relayed = 0
            for link in self._below.values():
                relayed |= link.request.topics
            self._relayed = relayed
        return self._relayed

    def links(self, topic: int) -> set[int]:
        """Return the peers next to this one on the topic's relay paths."""
        now = self._environment.now
        bit = 1 << topic
        linked: set[int] = set()
        # Links are about topics that this peer asks for itself; only what fades may be about others.
        if self._asked & bit:
            for link in [*self._below.values(), *self._above.values()]:
                if link.request.topics & bit and link.ends >= now:
                    linked.add(link.peer)
        for fading in self._fading:
            if fading.topics & bit and fading.ends >= now:
                linked.add(fading.peer)
        return linked

    def on_unreachable(self, peer: int) -> None:
        """Take another next hop at once for the topics that were relayed through `peer`."""
        self._fading = deque([fading for fading in self._fading if fading.peer != peer])
        self._below.pop(peer, None)
        self._relayed = _UNKNOWN
        above = self._above.pop(peer, None)
        if above is not None:
            self._ask_more(above.request.topics)

    def _on_request(self, sender: int, message: RelayRequest) -> None:
        now = self._environment.now
        ends = now + self._lifetime
        link = self._below.get(sender)
        if link is not None and link.request is message and link.ends >= now:
            link.ends = ends
            return
        topics = message.topics
        if link is None or link.ends < now:
            self._below[sender] = _RelayLink(sender, message, ends)
            self._earliest = min(self._earliest, ends)
            self._relayed = _UNKNOWN
        elif message.addition:
            link.request = RelayRequest(link.request.topics | topics)
            link.ends = ends
            self._relayed = _UNKNOWN
        elif topics == link.request.topics:
            link.ends = ends
            return
        else:
            self._fade(link, topics)
            link.request = message
            link.ends = ends
            self._relayed = _UNKNOWN
        self._ask_more(topics & ~self._asked)

    def _choose_above(self, topics: int) -> None:
        """Find the next hop of all topics anew."""
        self._routes_version = self._overlay.routes_version
        self._asked = topics
        former, self._above = self._above, {}
        for hop, asked in self._overlay.next_hops(topics).items():
            self._above[hop] = _RelayLink(hop, RelayRequest(asked), self._environment.now)
        for hop, link in former.items():
            remaining = self._above.get(hop)
            self._fade(link, 0 if remaining is None else remaining.request.topics)

    def _ask_more(self, topics: int) -> None:
        """Ask for these topics at once; the next rounds' requests include them."""
        if not topics:
            return
        self._asked |= topics
        ends = self._environment.now + self._lifetime
        for hop, asked in self._overlay.next_hops(topics).items():
            link = self._above.get(hop)
            if link is None:
                self._above[hop] = _RelayLink(hop, RelayRequest(asked), ends)
            else:
                link.request = RelayRequest(link.request.topics | asked)
                link.ends = ends
            self._environment.send(hop, RelayRequest(asked, addition=True))

    def _fade(self, link: _RelayLink, topics: int) -> None:
        """Ask for only these topics over the link from now on; the others last for `lifetime` more."""
        former = link.request.topics & ~topics
        if former:
            ends = self._environment.now + self._lifetime
            self._fading.append(_Fading(link.peer, former, ends))

    def _drop_ended(self, now: float) -> None:
        if now > self._earliest:
            ended = [peer for peer, link in self._below.items() if link.ends < now]
            for peer in ended:
                del self._below[peer]
                self._relayed = _UNKNOWN
            self._earliest = min([link.ends for link in self._below.values()], default=math.inf)
        while self._fading and self._fading[0].ends < now:
            self._fading.popleft()
