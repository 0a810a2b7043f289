"""The navigable small world of Vitis (section III.A): a ring, Symphony-like links and friends.

The ring and the links come from gossip (T-Man over Newscast). Routing is greedy: each hop goes to
the neighbour whose identifier is closest to the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from google.protobuf.message import Message
from pydantic import BaseModel, ConfigDict, Field
from trellis.v1.overlay_pb2 import Goodbye, Routed
from trellis.v1.pubsub_pb2 import ProfileExchange

from emulator import identifiers
from emulator.gossip.descriptor import Descriptor, Sighting, decode, merge
from emulator.gossip.newscast import Newscast
from emulator.gossip.tman import TMan
from emulator.messages import message_class
from emulator.overlays.greedy_routes import GreedyRoutes
from emulator.overlays.neighbour_selection import FRIEND, NeighbourSelection
from emulator.protocol import Contact, Environment, Handler, Overlay
from emulator.quantities import Duration


class SmallWorldParameters(BaseModel):
    """What all systems over this overlay share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    routing_table: int = Field(15, ge=3, description="neighbours of a peer, ring neighbours included")
    small_world_draw: Literal["distance", "candidates"] = Field(
        "distance",
        description="how a small-world link is drawn: a fixed random distance, or among the known peers",
    )
    view: int = Field(20, ge=2, description="peers in the Newscast view")
    period: Duration = Field(1.0, gt=0, description="length of a gossip round")
    stale_after: int = Field(5, ge=2, description="rounds of silence after which a neighbour is dropped")


class Link:
    """A peer that this one exchanges profiles with."""

    __slots__ = ("descriptor", "heard", "profile", "revision")

    def __init__(self, heard: float, descriptor: Descriptor) -> None:
        self.heard = heard
        """When it was last heard from (s of trial time), by anybody."""
        self.descriptor = descriptor
        self.revision: int | None = None
        """Of the last `ProfileExchange` that it sent to this peer."""
        self.profile = b""
        """That message, encoded: decoded it takes seven times as much memory."""

    def hear(self, heard: float, descriptor: Descriptor) -> None:
        """Take over what is newer."""
        if heard > self.heard:
            self.heard = heard
        if descriptor.version > self.descriptor.version:
            self.descriptor = descriptor


class SmallWorld(Overlay):
    """One peer of the overlay.

    Heartbeats are `ProfileExchange` messages (Algorithms 6 and 7). What they carry beyond the
    profile is made by `make_profile` and read by `profile_received`, so that Vitis's proposals ride
    on them.
    """

    def __init__(
        self,
        environment: Environment,
        parameters: SmallWorldParameters,
        *,
        small_world_links: int,
        own: Callable[[], Descriptor],
        make_profile: Callable[[bool], ProfileExchange],
        round_begins: Callable[[], None],
    ) -> None:
        """`round_begins` is called each round before the profile is made and sent."""
        self._environment = environment
        self._peer = environment.self_contact.peer
        self._parameters = parameters
        self._own = own
        self._make_profile = make_profile
        self._round_begins = round_begins
        self._stale = parameters.stale_after * parameters.period
        self.table: dict[int, Link] = {}
        """The routing table, RT."""
        self.incoming: dict[int, Link] = {}
        """Peers that have this one in their table, or lately had or were in this one's."""
        self._kinds: dict[str, list[int]] = {}
        self._silent: dict[int, float] = {}
        self._routes = GreedyRoutes(identifiers.of_peer(self._peer))
        self._selection = NeighbourSelection(
            own(),
            parameters.routing_table,
            small_world_links,
            parameters.small_world_draw,
            environment.random,
        )
        self._newscast = Newscast(environment, own, view_size=parameters.view, period=parameters.period)
        self._tman = TMan(
            environment, own=own, sample=self._newscast.sample, table=self._sightings, select=self._select
        )

    def handlers(self) -> dict[type[Message], Handler]:
        return {
            **self._newscast.handlers(),
            **self._tman.handlers(),
            ProfileExchange: self._on_profile,
            Goodbye: self._on_goodbye,
            Routed: self._on_routed,
        }

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self._newscast.start(bootstrap)
        self._environment.every(self._parameters.period, self._round)
        self._rebuild_routes()

    def stop(self, graceful: bool) -> None:
        if graceful:
            goodbye = Goodbye()
            for peer in self.links():
                self._environment.send(peer, goodbye)
        self._newscast.stop(graceful)
        self.table.clear()
        self.incoming.clear()

    def on_unreachable(self, peer: int) -> None:
        self._newscast.on_unreachable(peer)
        self._forget(peer)

    def gauges(self) -> dict[str, float]:
        friends = [self.table[peer].descriptor for peer in self._kinds.get(FRIEND, ()) if peer in self.table]
        gauges = {"incoming_links": float(len(self.incoming))}
        if friends:
            own = self._own()
            gauges["friend_utility"] = sum(own.utility(friend) for friend in friends) / len(friends)
        return gauges

    def neighbours(self) -> dict[str, list[int]]:
        known = {kind: [p for p in peers if p in self.table] for kind, peers in self._kinds.items()}
        return known | {"incoming": list(self.incoming)}

    def links(self) -> dict[int, Link]:
        """Neighbours in both directions."""
        return self.table | self.incoming

    def next_hop(self, key: int) -> int | None:
        return self._routes.next_hop(key)

    def route(self, key: int, message: Message) -> None:
        self._pass_on(
            Routed(
                key=identifiers.encode(key),
                origin=self._peer,
                hops=0,
                type=type(message).__name__,
                payload=message.SerializeToString(),
            ),
            message,
        )

    def neighbour_set(self, count: int) -> list[int]:
        own = identifiers.of_peer(self._peer)
        return sorted(self.table, key=lambda peer: identifiers.distance(own, identifiers.of_peer(peer)))[
            :count
        ]

    def _on_routed(self, sender: int, message: Routed) -> None:
        self._pass_on(message, message_class(message.type).FromString(message.payload))

    def _pass_on(self, routed: Routed, message: Message) -> None:
        key = identifiers.decode(routed.key)
        hop = self.next_hop(key)
        if hop is None:
            if self.application is not None:
                self.application.deliver(key, message, routed.origin, routed.hops)
        elif self.application is None or self.application.forward(key, message, hop, routed.hops):
            onward = Routed(
                key=routed.key,
                origin=routed.origin,
                hops=routed.hops + 1,
                type=routed.type,
                payload=routed.payload,
            )
            self._environment.send(hop, onward)

    def _round(self) -> None:
        """Algorithm 1, lines 6 and 7."""
        self._drop_stale()
        self._tman.exchange()
        self._round_begins()
        if self.table:
            profile = self._make_profile(False)
            for peer in self.table:
                self._environment.send(peer, profile)

    def _drop_stale(self) -> None:
        oldest = self._environment.now - self._stale
        for peer in [peer for peer, link in self.table.items() if link.heard < oldest]:
            del self.table[peer]
            self._removed(peer)
        for peer in [peer for peer, link in self.incoming.items() if link.heard < oldest]:
            del self.incoming[peer]
        for peer in [peer for peer, since in self._silent.items() if since < oldest]:
            del self._silent[peer]

    def _on_profile(self, sender: int, message: ProfileExchange) -> None:
        now = self._environment.now
        link = self.table.get(sender)
        if link is None:
            link = self.incoming.get(sender)
            if link is None:
                link = self.incoming[sender] = Link(now, decode(message.profile))
            if not message.reply:
                self._environment.send(sender, self._make_profile(True))
        link.heard = now
        if link.revision != message.revision:
            link.revision = message.revision
            link.descriptor = decode(message.profile)
            link.profile = message.SerializeToString()

    def _on_goodbye(self, sender: int, message: Goodbye) -> None:
        self.on_unreachable(sender)

    def _forget(self, peer: int) -> None:
        self._silent[peer] = self._environment.now
        self.incoming.pop(peer, None)
        if self.table.pop(peer, None) is not None:
            self._removed(peer)

    def _removed(self, peer: int) -> None:
        self._rebuild_routes()
        if self.application is not None:
            self.application.update(peer, False)

    def _sightings(self) -> list[Sighting]:
        return [(link.heard, link.descriptor) for link in self.table.values()]

    def _select(self, told: list[Sighting]) -> None:
        """Algorithm 4 over all whom this peer knows of and those it was `told` of."""
        hearsay = told + self._newscast.sample()
        if self._keeps_table(hearsay):
            return
        candidates: dict[int, Sighting] = {}
        merge(candidates, self._sightings())
        merge(candidates, hearsay)
        for peer, link in self.incoming.items():
            known = candidates.get(peer)
            if known is None or known[0] < link.heard:
                candidates[peer] = (link.heard, link.descriptor)
        candidates.pop(self._peer, None)
        oldest = self._environment.now - self._stale
        silent = self._silent
        table = self.table
        live = {
            peer: sighting
            for peer, sighting in candidates.items()
            if sighting[0] >= oldest and (peer not in silent or sighting[0] > silent[peer])
        }
        chosen = self._selection.select(self._own(), live, table)
        selected: dict[int, Link] = {}
        for sightings in chosen.values():
            for heard, descriptor in sightings:
                peer = descriptor.peer
                former = self.incoming.pop(peer, None)
                chosen_link = table.get(peer) or former or Link(heard, descriptor)
                chosen_link.hear(heard, descriptor)
                selected[peer] = chosen_link
        self._kinds = {kind: [s[1].peer for s in sightings] for kind, sightings in chosen.items()}
        if selected.keys() == table.keys():
            return
        self.table = selected
        for peer, link in table.items():
            if peer not in selected and link.revision is not None:
                # It may still count on this link for a round; both sides let it fade alike.
                self.incoming[peer] = link
        self._rebuild_routes()
        if self.application is not None:
            for peer in table.keys() - selected.keys():
                self.application.update(peer, False)
            for peer in selected.keys() - table.keys():
                self.application.update(peer, True)

    def _keeps_table(self, hearsay: list[Sighting]) -> bool:
        """Whether the neighbours are sure to stay as they are; what was told of them is taken over then."""
        table = self.table
        known = [link.descriptor for link in self.incoming.values()]
        known += [descriptor for _, descriptor in hearsay]
        if not self._selection.keeps(self._own(), table, known):
            return False
        for heard, descriptor in hearsay:
            link = table.get(descriptor.peer)
            if link is not None:
                link.hear(heard, descriptor)
        oldest = self._environment.now - self._stale
        return all(link.heard >= oldest for link in table.values())

    def _rebuild_routes(self) -> None:
        self._routes.rebuild((link.descriptor.identifier, peer) for peer, link in self.table.items())
        self.routes_version = self._routes.version
