"""The navigable small world of Vitis (section III.A): a ring, Symphony-like links and friends.

The ring and the links come from gossip (T-Man over Newscast). Routing is greedy: each hop goes to
the neighbour whose identifier is closest to the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i32, i64, mypyc_attr

from emulator.compact.peer_ranges import NO_PLACE
from emulator.compact.peer_rows import PeerRows
from emulator.contract.identifiers import RING
from emulator.contract.protocol import Environment, Overlay
from emulator.messages.message import MalformedMessage, Message, Part, Undecoded
from emulator.protocols.gossip.newscast import Newscast
from emulator.protocols.gossip.profile_handles import ProfileHandles, is_sound
from emulator.protocols.gossip.profiles import fits, make_profile, utility
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.gossip.tman import TMan, Topology
from emulator.protocols.overlays.hop_by_hop import HopByHop
from emulator.protocols.overlays.small_world.candidates import Candidates
from emulator.protocols.overlays.small_world.greedy_routes import GreedyRoutes, next_hops_by_places
from emulator.protocols.overlays.small_world.heartbeats import (
    NOTHING_SAID,
    HeartbeatListener,
    Heartbeats,
    RidingSystem,
)
from emulator.protocols.overlays.small_world.links import Link, Links, Words
from emulator.protocols.overlays.small_world.neighbour_selection import FRIEND, NeighbourSelection, by_kind
from emulator.protocols.overlays.small_world.parameters import SmallWorldParameters
from emulator.protocols.overlays.small_world.replacement import renew_links, replace_links
from trellis.v1.overlay import Contact, Goodbye, Profile, ProfileExchange

_WORD_COUNTS: Final = 2.5
"""The rounds of silence after which the last word of a peer no longer counts: perhaps only this peer sees the
link."""
_CANDIDATES: Final = Candidates()
_HEARSAY: Final = Sightings()
_WORDS: Final = Words()


@mypyc_attr(allow_interpreted_subclasses=True)
class SmallWorld(Overlay, Topology, HeartbeatListener):
    """One peer of the overlay.

    Heartbeats are `ProfileExchange` messages (Algorithms 6 and 7); a system may let something ride on them.
    """

    def __init__(
        self,
        environment: Environment,
        parameters: SmallWorldParameters,
        *,
        small_world_links: int,
        system: RidingSystem | None = None,
    ) -> None:
        super().__init__(environment, RING, environment.identifier)
        self._parameters = parameters
        self._system = system
        self._stale = parameters.stale_after * parameters.period
        self._word_counts = _WORD_COUNTS * parameters.period
        self._own = Contact(environment.peer, self.identifier)
        self._rates: Mapping[int, float] = {}
        self._profile: Profile | None = None
        self._version = 0
        self.links_version = 0
        """A count that grows whenever a link comes, goes, or says something new."""
        self._has_selected = False
        self._chosen = vec[i64]()
        """The peers that the last selection chose, as `NeighbourSelection.chosen` orders them."""
        self._silent: dict[int, float] = {}
        """The times at which peers turned out to be unreachable, or left."""
        self._is_first = False
        self._routes = GreedyRoutes(RING, self._own)
        self._routed_version = 0
        self._newscast = Newscast(
            environment.channel("newscast"),
            self.own_profile,
            view_size=parameters.view,
            period=parameters.period,
        )
        self._row = self._newscast.row
        self.profiles = environment.shared(ProfileHandles)
        rows, channel = environment.shared(PeerRows), environment.name
        self.heartbeats = environment.shared(Heartbeats, channel, rows, self.profiles)
        self.heartbeats.join(self._row, self)
        self._table = environment.shared(Links, self.profiles, self.heartbeats, "table")
        """The routing tables, the paper's RT."""
        self.heartbeats.watch(self._table)
        self._table.empty(self._row)
        self._incoming = environment.shared(Links, self.profiles, self.heartbeats, "incoming")
        """The peers that have this one in their table, or that lately had it or were in this one's."""
        self._incoming.empty(self._row)
        self._selection = NeighbourSelection(
            self.profiles,
            self.identifier,
            parameters.routing_table,
            small_world_links,
            parameters.small_world_draw,
            environment.random,
        )
        self._tman = TMan(environment, self, parameters.routing_table + parameters.view)
        environment.handle(ProfileExchange, self._on_profile)
        environment.handle(Goodbye, self._on_goodbye)
        self._forwarding = HopByHop(environment, self)

    @property
    def profile(self) -> Profile:
        """This peer's profile, as others get it."""
        profile = self._profile
        if profile is None:
            self._version += 1
            profile = self._profile = make_profile(
                self._own.peer, self.environment.session, self._version, self.identifier, self._rates
            )
        return profile

    def topics(self) -> vec[i32]:
        """Return the topics that this peer subscribes to, ascending."""
        return self.profiles.topics_of(self.profiles.take(self.profile))

    def describe(self, rates: Mapping[int, float]) -> None:
        """Subscribe to the topics in `rates` (events/s), and to no others, from now on."""
        self._rates = rates
        self._profile = None

    def start(self, contacts: Sequence[int]) -> None:
        self._is_first = not contacts
        self.move_to(self.identifier)
        self._newscast.start(contacts)
        self.environment.every(self._parameters.period, self._round)

    def stop(self, graceful: bool) -> None:
        if graceful:
            goodbye = Goodbye()
            for link in self.links():
                self.environment.send(link.peer, goodbye)
        self._newscast.stop(graceful)
        self._table.empty(self._row)
        self._incoming.empty(self._row)

    def on_unreachable(self, peer: int) -> None:
        self._silent[peer] = self.environment.now
        place = self._incoming.find(self._row, peer)
        if place != NO_PLACE:
            self._incoming.remove(self._row, place)
            self.links_version += 1
        place = self._table.find(self._row, peer)
        if place != NO_PLACE:
            self._remove(place)

    def gauges(self) -> dict[str, float]:
        gauges = {"incoming_links": float(self._incoming.count(self._row))}
        profiles = {link.peer: link.profile for link in self.table()}
        friends = [profiles[peer] for peer in self._selected().get(FRIEND, ()) if peer in profiles]
        if friends:
            total = sum([utility(self.profile, friend) for friend in friends])
            gauges["friend_utility"] = total / len(friends)
        return gauges

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        table = {link.peer for link in self.table()}
        known = {kind: [p for p in peers if p in table] for kind, peers in self._selected().items()}
        known["incoming"] = [link.peer for link in self._incoming.links_of(self._row)]
        return known

    def links(self) -> list[Link]:
        """Return the neighbours in both directions."""
        return [*self.table(), *self._incoming.links_of(self._row)]

    def table(self) -> list[Link]:
        """Return the neighbours in the routing table."""
        return self._table.links_of(self._row)

    def add_interested(self, topic: int, peers: set[int], *, incoming: bool) -> None:
        """Add the neighbours in the table, and with `incoming` in both directions, that want a topic."""
        self._table.add_interested(self._row, topic, peers)
        if incoming:
            self._incoming.add_interested(self._row, topic, peers)

    def words(self, *, incoming: bool) -> Words:
        """Return what the neighbours in the table, and with `incoming` in both directions, said last."""
        _WORDS.count = 0
        self._table.read_words(self._row, _WORDS)
        if incoming:
            self._incoming.read_words(self._row, _WORDS)
        return _WORDS

    def sample(self, count: int) -> Sequence[int]:
        return self._newscast.sample(count)

    @property
    def ready(self) -> bool:
        return self._is_first or self.has_neighbours

    @property
    def has_neighbours(self) -> bool:
        """This is true if the routing table has any neighbour."""
        return self._table.count(self._row) > 0

    def next_hop(self, key: int) -> Contact | None:
        self._route_anew()
        return self._routes.next_hop(key)

    def next_hops(self, topics: vec[i32]) -> dict[int, vec[i32]]:
        """Return the topics by the next hop for their keys, without those that end here."""
        found = next_hops_by_places(topics, self._table, self._row, self.profiles, self._own)
        if found is None:
            self._route_anew()
        return self._routes.next_hops(topics) if found is None else found

    def _route_anew(self) -> None:
        """Route over the neighbours of now."""
        if self._routed_version != self.routes_version:
            self._routed_version = self.routes_version
            self._routes.rebuild(self._contacts())

    def route(self, key: int, message: Message) -> None:
        self._forwarding.route(key, message)

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        neighbours = self._contacts()
        neighbours.sort(key=lambda contact: self.space.distance(self.identifier, contact.identifier))
        return neighbours[:count]

    def own_profile(self) -> Profile:
        return self.profile

    def read_table(self, sightings: Sightings) -> None:
        self._table.read(self._row, sightings)

    def read_sample(self, sightings: Sightings) -> None:
        self._newscast.views.read(self._newscast.row, sightings)

    def select(self, told: Sightings) -> None:
        """Select neighbours (Algorithm 4) among all known peers and those that this one was `told` of."""
        hearsay, candidates = _HEARSAY, _CANDIDATES
        hearsay.clear()
        self.read_sample(hearsay)
        self._renew_neighbours(told)
        self._renew_neighbours(hearsay)
        candidates.begin(self._own.peer, self.environment.now - self._stale, self._silent)
        candidates.add_links(self._table, self._row)
        neighbours = candidates.sightings.count
        candidates.add_links(self._incoming, self._row)
        candidates.add(told)
        candidates.add(hearsay)
        own = self.profiles.take(self.profile)
        self._selection.select(own, candidates.sightings, neighbours)
        self._has_selected = True
        self._take_links(candidates.sightings)

    def _take_links(self, candidates: Sightings) -> None:
        """Make the selected candidates the routing table."""
        chosen = self._selection.chosen
        self._chosen = vec[i64](capacity=len(chosen))
        for place in chosen:
            self._chosen = append(self._chosen, candidates.peers[i64(place)])
        if renew_links(self._table, self._row, candidates, chosen):
            return
        left, joined = replace_links(self._table, self._incoming, self._row, candidates, chosen)
        self.links_version += 1
        self.routes_version += 1
        for contact in left:
            self.tell_change(contact, False)
        for contact in joined:
            self.tell_change(contact, True)

    def _round(self) -> None:
        """Run a round (Algorithm 1, lines 6 and 7)."""
        self._drop_stale()
        self._tman.exchange()
        if self._system is not None:
            self._system.begin_round()
        table = self._table
        if table.count(self._row):
            heartbeat = self._heartbeat(reply=False)
            receivers = table.peers[table.begin(self._row) : table.end(self._row)]
            for peer in receivers:
                self.environment.send_row(int(peer), self.heartbeats, heartbeat)

    def _drop_stale(self) -> None:
        """Drop the links over which nothing was heard for too long, and what was said over them lately."""
        now = self.environment.now
        oldest, counts = now - self._stale, now - self._word_counts
        table, incoming = self._table, self._incoming
        for links in (table, incoming):
            place = links.begin(self._row)
            while place < links.end(self._row):
                if not links.heard[place] < oldest:
                    place += 1
                elif links is table:
                    self._remove(place)
                else:
                    links.remove(self._row, place)
                    self.links_version += 1
        for links in (table, incoming):
            for place in range(links.begin(self._row), links.end(self._row)):
                if links.heard[place] < counts and links.said[place] != NOTHING_SAID:
                    links.say(place, NOTHING_SAID)
                    self.links_version += 1
        if self._silent:
            for peer in [peer for peer, since in self._silent.items() if since < oldest]:
                del self._silent[peer]

    def _heartbeat(self, reply: bool) -> i64:
        """Return the same row as long as it says the same: who has it need not read it again."""
        rider = self._system.rider() if self._system is not None else None
        return self.heartbeats.own(self._row, reply, self.profile, rider)

    def hear(self, sender: i64, heartbeat: i64, now: float) -> None:
        links = self._table
        place = links.find(self._row, sender)
        if place == NO_PLACE:
            links = self._incoming
            place = links.find(self._row, sender)
            if not self.heartbeats.is_reply(heartbeat):
                self.environment.send_row(int(sender), self.heartbeats, self._heartbeat(reply=True))
        if place == NO_PLACE or not links.hear(place, heartbeat, now):
            self._take_over(sender, links, place, heartbeat, now)

    def _take_over(self, sender: i64, links: Links, place: i64, heartbeat: i64, now: float) -> None:
        """Note what a peer says that is not the same heartbeat as before."""
        if not self._fits(heartbeat):
            self.environment.drop(ProfileExchange, "its parts do not fit together")
            return
        if place == NO_PLACE:
            self._incoming.add(self._row, sender, self.heartbeats.handle(heartbeat), now, NOTHING_SAID)
            place = self._incoming.end(self._row) - 1
        before = links.said[place]
        is_new = before == NOTHING_SAID or self.heartbeats.differ(before, heartbeat)
        links.say(place, heartbeat)
        if is_new:
            links.handles[place] = self.heartbeats.handle(heartbeat)
            self.links_version += 1

    def _fits(self, heartbeat: i64) -> bool:
        """Return whether the parts of a heartbeat fit together."""
        if not self.heartbeats.is_sound(heartbeat):
            message, system = self.heartbeats.view(heartbeat), self._system
            profile, rider = message.profile, message.rider
            assert profile is not None
            if not (fits(profile) and (rider is None or system is None or system.fits(profile, rider))):
                return False
            self.heartbeats.note_sound(heartbeat)
        return True

    def _on_profile(self, sender: int, message: ProfileExchange) -> None:
        """Take a heartbeat that came as a message, from another host or through a runtime without rows."""
        if message.profile is None:
            self.environment.drop(ProfileExchange, "it lacks a part")
            return
        if not is_sound(message.profile):
            self.environment.drop(ProfileExchange, "its profile names no peer")
            return
        if isinstance(message.rider, Undecoded):
            message.rider = self._decoded(message.rider.content)
        heartbeat = self.heartbeats.take(message)
        self.hear(sender, heartbeat, self.environment.now)
        self.heartbeats.release(heartbeat)

    def _decoded(self, content: bytes) -> Part | None:
        """What came from another host, as the system reads it; nothing if it is malformed."""
        try:
            return None if self._system is None else self._system.read_rider(content)
        except MalformedMessage:
            self.environment.drop(ProfileExchange, "what rides on it is malformed")
            return None

    def _on_goodbye(self, sender: int, message: Goodbye) -> None:
        self.environment.report_gone(sender)

    def _selected(self) -> dict[str, list[int]]:
        """Return the peers that the last selection chose, by kind of link; some may be gone since."""
        if not self._has_selected:
            return {}
        return by_kind([int(peer) for peer in self._chosen], self._selection.small_world)

    def _contacts(self) -> list[Contact]:
        """Return the neighbours in the routing table."""
        begin, end = self._table.begin(self._row), self._table.end(self._row)
        return [self._table.contact(place) for place in range(begin, end)]

    def _remove(self, place: i64) -> None:
        """Remove a link from the routing table."""
        contact = self._table.contact(place)
        self._table.remove(self._row, place)
        self.links_version += 1
        self.routes_version += 1
        self.tell_change(contact, False)

    def _renew_neighbours(self, hearsay: Sightings) -> None:
        """Take over the newer part of what others tell of this peer's neighbours."""
        place: i64
        for place in range(hearsay.count):
            known = self._table.find(self._row, hearsay.peers[place])
            if known != NO_PLACE:
                self._table.renew(known, hearsay.handles[place], hearsay.heard[place])
