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

from librt.vecs import vec
from mypy_extensions import i32, i64

from emulator.compact.peer_ranges import NO_PLACE
from emulator.compact.peer_rows import PeerRows
from emulator.compact.sorted_numbers import are_equal, difference, holds, union
from emulator.contract.protocol import Environment
from emulator.protocols.pubsub.vitis.relay_requests import RelayListener, RelayRequests
from trellis.v1.pubsub import RelayRequest

_NO_TOPICS: Final = vec[i32]()


class TopicRoutes(Interface):
    """Any overlay that knows the next hops of many topics at once."""

    routes_version: int
    """A number that changes whenever `next_hops` may answer otherwise than before."""

    def next_hops(self, topics: vec[i32]) -> dict[int, vec[i32]]:
        """Return the topics by the next hop towards their rendezvous nodes, without those that end here."""
        ...


class _Fading:
    """Topics that a link between two peers relayed, and that are no longer asked for over it."""

    __slots__ = ("ends", "peer", "topics")

    def __init__(self, peer: int, topics: vec[i32], ends: float) -> None:
        self.peer = peer
        """The peer at the other end."""
        self.topics = topics
        self.ends = ends
        """The time at which they are relayed no more (s of trial time)."""


class RelayTrees(RelayListener):
    """This peer's part in the relay paths of all topics.

    A request names all the topics that a peer asks the receiver for. In a network at rest it is the same each
    round. Sets of topics are vectors, ascending.
    """

    def __init__(self, environment: Environment, overlay: TopicRoutes, lifetime: float) -> None:
        """`lifetime` is how long a relay link lasts without renewal, in seconds."""
        self._environment = environment
        self._overlay = overlay
        rows = environment.shared(PeerRows)
        self._row = rows.row(environment.peer)
        self._requests = environment.shared(RelayRequests, rows, lifetime)
        self._requests.join(self._row, self)
        self._fading: deque[_Fading] = deque()
        """The topics that links in either direction no longer ask for, in the order in which they end."""
        self._earliest = math.inf
        """A time before which no link to a peer below ends."""
        self._relayed = _NO_TOPICS
        """The topics that are asked for over links below, where these need not be looked through."""
        self._knows_relayed = True
        self._asked = _NO_TOPICS
        """The topics that this peer wants or relays, among them all that links below are about. It asks peers
        above for all of them except those that it is the rendezvous node of."""
        self._routes_version = -1
        environment.handle(RelayRequest, self._on_request)

    def clear(self) -> None:
        """Forget all paths."""
        self._requests.unlink(self._row)
        self._fading.clear()
        self._relayed = _NO_TOPICS
        self._knows_relayed = True
        self._asked = _NO_TOPICS

    def refresh(self, wanted: vec[i32]) -> None:
        """Run a round: ask again for the topics that this peer wants or relays."""
        now = self._environment.now
        self._drop_ended(now)
        topics = union(wanted, self.relayed())
        if not are_equal(topics, self._asked) or self._routes_version != self._overlay.routes_version:
            self._choose_above(topics)
        ends = now + self._requests.lifetime
        above = self._requests.above
        place: i64
        for place in range(above.begin(self._row), above.end(self._row)):
            above.ends[place] = ends
            self._environment.send_row(int(above.peers[place]), self._requests, above.requests[place])

    def relayed(self) -> vec[i32]:
        """Return the topics that this peer relays for others."""
        if not self._knows_relayed:
            self._relayed = self._requests.topics_over(self._requests.below, self._row)
            self._knows_relayed = True
        return self._relayed

    def links(self, topic: int) -> set[int]:
        """Return the peers next to this one on the topic's relay paths."""
        now = self._environment.now
        linked: set[int] = set()
        # Links are about topics that this peer asks for itself; only what fades may be about others.
        if holds(self._asked, topic):
            for links in (self._requests.below, self._requests.above):
                place: i64
                for place in range(links.begin(self._row), links.end(self._row)):
                    asked = self._requests.topics(links.requests[place])
                    if links.ends[place] >= now and holds(asked, topic):
                        linked.add(int(links.peers[place]))
        for fading in self._fading:
            if fading.ends >= now and holds(fading.topics, topic):
                linked.add(fading.peer)
        return linked

    def on_unreachable(self, peer: int) -> None:
        """Take another next hop at once for the topics that were relayed through `peer`."""
        self._fading = deque([fading for fading in self._fading if fading.peer != peer])
        below, above = self._requests.below, self._requests.above
        place = below.find(self._row, peer)
        if place != NO_PLACE:
            self._requests.remove(below, self._row, place)
            self._knows_relayed = False
        place = above.find(self._row, peer)
        if place != NO_PLACE:
            topics = self._requests.topics(above.requests[place])
            self._requests.remove(above, self._row, place)
            self._ask_more(topics)

    def _on_request(self, sender: int, message: RelayRequest) -> None:
        """Take a request that came as a message, from another host or through a runtime without rows."""
        requests, now = self._requests, self._environment.now
        below = requests.below
        place = below.find(self._row, sender)
        if (
            place != NO_PLACE
            and below.ends[place] >= now
            and not message.addition
            and requests.view(below.requests[place]).topics == message.topics
        ):
            below.ends[place] = now + self._requests.lifetime
            return
        request = requests.take(message)
        self.take_request(sender, request)
        requests.release(request)

    def take_request(self, sender: int, request: i64) -> None:
        requests, below, now = self._requests, self._requests.below, self._environment.now
        ends, asked = now + self._requests.lifetime, requests.topics(request)
        topics = asked
        place = below.find(self._row, sender)
        if place == NO_PLACE or below.ends[place] < now:
            self._earliest = min(self._earliest, ends)
        elif requests.is_addition(request):
            topics = union(asked, requests.topics(below.requests[place]))
        else:
            self._fade(sender, difference(requests.topics(below.requests[place]), asked))
        if len(topics) == len(asked):
            requests.hold(request)
        else:
            request = requests.put(topics)
        if place == NO_PLACE:
            below.add(self._row, sender, request, ends)
        else:
            requests.ask_over(below, place, request)
            below.ends[place] = ends
        self._knows_relayed = False
        self._ask_more(difference(topics, self._asked))

    def _choose_above(self, topics: vec[i32]) -> None:
        """Find the next hop of all topics anew."""
        requests, above, row = self._requests, self._requests.above, self._row
        self._routes_version = self._overlay.routes_version
        self._asked = topics
        former: dict[int, int] = {}
        place: i64
        for place in range(above.begin(row), above.end(row)):
            former[int(above.peers[place])] = int(above.requests[place])
        above.leave(row)
        chosen = self._overlay.next_hops(topics)
        for hop, asked in chosen.items():
            request = former.get(hop)
            if request is None or not are_equal(requests.topics(request), asked):
                request = int(requests.put(asked))
            else:
                requests.hold(request)
            above.add(row, hop, request, self._environment.now)
        for hop, request in former.items():
            self._fade(hop, difference(requests.topics(request), chosen.get(hop, _NO_TOPICS)))
            requests.release(request)

    def _ask_more(self, topics: vec[i32]) -> None:
        """Ask for these topics at once; the next rounds' requests include them."""
        if not len(topics):
            return
        requests, above = self._requests, self._requests.above
        self._asked = union(self._asked, topics)
        ends = self._environment.now + self._requests.lifetime
        for hop, asked in self._overlay.next_hops(topics).items():
            place = above.find(self._row, hop)
            if place == NO_PLACE:
                above.add(self._row, hop, requests.put(asked), ends)
            else:
                more = union(requests.topics(above.requests[place]), asked)
                requests.ask_over(above, place, requests.put(more))
                above.ends[place] = ends
            addition = requests.put(asked, addition=True)
            self._environment.send_row(hop, requests, addition)
            requests.release(addition)

    def _fade(self, peer: int, topics: vec[i32]) -> None:
        """Relay these topics, which are asked for no more over the link to a peer, for `lifetime` more."""
        if len(topics):
            self._fading.append(_Fading(peer, topics, self._environment.now + self._requests.lifetime))

    def _drop_ended(self, now: float) -> None:
        if now > self._earliest:
            requests, below = self._requests, self._requests.below
            self._earliest = math.inf
            place = below.begin(self._row)
            while place < below.end(self._row):
                if below.ends[place] < now:
                    requests.remove(below, self._row, place)
                    self._knows_relayed = False
                else:
                    self._earliest = min(self._earliest, below.ends[place])
                    place += 1
        while self._fading and self._fading[0].ends < now:
            self._fading.popleft()
