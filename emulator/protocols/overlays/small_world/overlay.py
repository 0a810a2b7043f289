"""The navigable small world of Vitis (section III.A): a ring, Symphony-like links and friends.

The ring and the links come from gossip (T-Man over Newscast). Routing is greedy: each hop goes to
the neighbour whose identifier is closest to the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from typing import Protocol as Interface

from mypy_extensions import i64, mypyc_attr

from emulator.compact.peer_positions import NOWHERE, PeerPositions
from emulator.contract.identifiers import RING, hash_of_peer
from emulator.contract.protocol import Environment, Overlay
from emulator.messages.message import MalformedMessage, Message, Part, Undecoded
from emulator.protocols.gossip.newscast import Newscast
from emulator.protocols.gossip.profiles import fits, make_profile, newer, utility
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.gossip.tman import TMan
from emulator.protocols.overlays.hop_by_hop import HopByHop
from emulator.protocols.overlays.small_world.greedy_routes import GreedyRoutes
from emulator.protocols.overlays.small_world.neighbour_selection import FRIEND, NeighbourSelection
from emulator.protocols.overlays.small_world.parameters import SmallWorldParameters
from trellis.v1.overlay import Contact, Goodbye, Profile, ProfileExchange

_WORD_COUNTS: Final = 2.5
"""The rounds of silence after which the last word of a peer no longer counts: perhaps only this peer sees the
link."""


_PLACES: Final = PeerPositions()


class RidingSystem(Interface):
    """Any class that acts in the rounds of the overlay and lets something ride on its heartbeats."""

    def begin_round(self) -> None:
        """Act in a round, before the heartbeats go out."""

    def rider(self) -> Part | None:
        """What rides on heartbeats; the same object as long as it says the same."""
        ...

    def read_rider(self, content: bytes) -> Part:
        """Decode what rode on the heartbeat of a peer at another host. Raises MalformedMessage."""
        ...

    def fits(self, profile: Profile, rider: Part) -> bool:
        """Whether what rode on a heartbeat fits the profile that came with it."""
        ...


class Link:
    """A peer with which this one exchanges profiles."""

    __slots__ = ("heard", "peer", "profile", "said")

    def __init__(self, profile: Profile, heard: float) -> None:
        self.peer = profile.peer
        self.profile = profile
        self.heard = heard
        """The time at which any peer last heard from the peer (s of trial time)."""
        self.said: ProfileExchange | None = None
        """The peer's last heartbeat; None if it sent none, or has been silent for too long since."""

    def renew(self, profile: Profile, heard: float) -> None:
        """Take over from what others tell the parts that are newer."""
        if heard > self.heard:
            self.heard = heard
        if profile is not self.profile and newer(profile, self.profile):
            self.profile = profile


@mypyc_attr(allow_interpreted_subclasses=True)
class SmallWorld(Overlay):
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
        super().__init__(environment, RING, hash_of_peer(environment.peer))
        self._parameters = parameters
        self._system = system
        self._stale = parameters.stale_after * parameters.period
        self._word_counts = _WORD_COUNTS * parameters.period
        self._own = Contact(environment.peer, self.identifier)
        self._rates: Mapping[int, float] = {}
        self._profile: Profile | None = None
        self._version = 0
        self._heartbeats: dict[bool, ProfileExchange] = {}
        self.table: dict[int, Link] = {}
        """The routing table, the paper's RT."""
        self.incoming: dict[int, Link] = {}
        """The peers that have this one in their table, or that lately had it or were in this one's."""
        self.links_version = 0
        """A count that grows whenever a link comes, goes, or says something new."""
        self._kinds: dict[str, list[int]] = {}
        self._silent: dict[int, float] = {}
        """The times at which peers turned out to be unreachable, or left."""
        self._is_first = False
        self._routes = GreedyRoutes(RING, self._own)
        self._selection = NeighbourSelection(
            RING,
            self.identifier,
            parameters.routing_table,
            small_world_links,
            parameters.small_world_draw,
            environment.random,
        )
        self._newscast = Newscast(
            environment.channel("newscast"),
            self._own_profile,
            view_size=parameters.view,
            period=parameters.period,
        )
        self._tman = TMan(
            environment,
            own=self._own_profile,
            sample=self._newscast.view,
            table=self._neighbours_seen,
            select=self._select,
        )
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
        self.table.clear()
        self.incoming.clear()

    def on_unreachable(self, peer: int) -> None:
        self._silent[peer] = self.environment.now
        gone = self.incoming.pop(peer, None)
        if gone is not None:
            self.links_version += 1
        gone = self.table.pop(peer, None)
        if gone is not None:
            self._removed(gone)

    def gauges(self) -> dict[str, float]:
        gauges = {"incoming_links": float(len(self.incoming))}
        friends = [self.table[peer].profile for peer in self._kinds.get(FRIEND, ()) if peer in self.table]
        if friends:
            total = sum([utility(self.profile, friend) for friend in friends])
            gauges["friend_utility"] = total / len(friends)
        return gauges

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        known = {kind: [p for p in peers if p in self.table] for kind, peers in self._kinds.items()}
        known["incoming"] = list(self.incoming)
        return known

    def links(self) -> list[Link]:
        """Return the neighbours in both directions."""
        return [*self.table.values(), *self.incoming.values()]

    def sample(self, count: int) -> Sequence[int]:
        return self._newscast.sample(count)

    @property
    def ready(self) -> bool:
        return self._is_first or bool(self.table)

    def next_hop(self, key: int) -> Contact | None:
        return self._routes.next_hop(key)

    def route(self, key: int, message: Message) -> None:
        self._forwarding.route(key, message)

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        neighbours = [_contact(link) for link in self.table.values()]
        neighbours.sort(key=lambda contact: self.space.distance(self.identifier, contact.identifier))
        return neighbours[:count]

    def _round(self) -> None:
        """Run a round (Algorithm 1, lines 6 and 7)."""
        self._drop_stale()
        self._tman.exchange()
        if self._system is not None:
            self._system.begin_round()
        if self.table:
            heartbeat = self._heartbeat(reply=False)
            for peer in self.table:
                self.environment.send(peer, heartbeat)

    def _drop_stale(self) -> None:
        now = self.environment.now
        dropped = [link for link in self.table.values() if link.heard < now - self._stale]
        for link in dropped:
            del self.table[link.peer]
            self._removed(link)
        for link in [link for link in self.incoming.values() if link.heard < now - self._stale]:
            del self.incoming[link.peer]
            self.links_version += 1
        for link in self.links():
            if link.heard < now - self._word_counts and link.said is not None:
                link.said = None
                self.links_version += 1
        for peer in [peer for peer, since in self._silent.items() if since < now - self._stale]:
            del self._silent[peer]

    def _heartbeat(self, reply: bool) -> ProfileExchange:
        """The same object as long as it says the same: who has it need not read it again."""
        rider = self._system.rider() if self._system is not None else None
        profile = self.profile
        heartbeat = self._heartbeats.get(reply)
        if heartbeat is None or heartbeat.profile is not profile or heartbeat.rider is not rider:
            heartbeat = self._heartbeats[reply] = ProfileExchange(reply, profile, rider)
        return heartbeat

    def _on_profile(self, sender: int, message: ProfileExchange) -> None:
        link = self.table.get(sender)
        if link is None:
            link = self.incoming.get(sender)
            if not message.reply:
                self.environment.send(sender, self._heartbeat(reply=True))
        if link is not None:
            link.heard = self.environment.now
            if message is link.said:
                return
        self._take_over(sender, link, message)

    def _take_over(self, sender: int, link: Link | None, message: ProfileExchange) -> None:
        """Note what a peer says that is not the same object as before."""
        profile, rider = message.profile, message.rider
        if profile is None:
            self.environment.drop(ProfileExchange, "it lacks a part")
            return
        if isinstance(rider, Undecoded):
            message.rider = rider = self._decoded(rider.content)
        system = self._system
        if not (fits(profile) and (rider is None or system is None or system.fits(profile, rider))):
            self.environment.drop(ProfileExchange, "its parts do not fit together")
            return
        if link is None:
            link = self.incoming[sender] = Link(profile, self.environment.now)
        said, link.said = link.said, message
        if said is None or said.profile != profile or said.rider != message.rider:
            link.profile = profile
            self.links_version += 1

    def _decoded(self, content: bytes) -> Part | None:
        """What came from another host, as the system reads it; nothing if it is malformed."""
        try:
            return None if self._system is None else self._system.read_rider(content)
        except MalformedMessage:
            self.environment.drop(ProfileExchange, "what rides on it is malformed")
            return None

    def _on_goodbye(self, sender: int, message: Goodbye) -> None:
        self.environment.report_gone(sender)

    def _removed(self, link: Link) -> None:
        """Note that a link has left the table."""
        self.links_version += 1
        self._rebuild_routes()
        self.tell_change(_contact(link), False)

    def _neighbours_seen(self) -> Sightings:
        seen = Sightings(len(self.table))
        for link in self.table.values():
            seen.add(link.profile, link.heard)
        return seen

    def _own_profile(self) -> Profile:
        return self.profile

    def _select(self, told: Sightings) -> None:
        """Select neighbours (Algorithm 4) among all known peers and those that this one was `told` of."""
        self._renew_neighbours(told)
        self._renew_neighbours(self._newscast.view())
        known = self._neighbours_seen()
        linked = Sightings()
        for link in self.incoming.values():
            linked.add(link.profile, link.heard)
        hearsay = self._newscast.view()
        _PLACES.clear()
        candidates = Sightings(len(known) + len(linked) + len(told) + len(hearsay))
        self._add_candidates(candidates, known)
        neighbours: i64 = len(candidates)
        for sightings in (linked, told, hearsay):
            self._add_candidates(candidates, sightings)
        chosen = self._selection.select(self.profile, candidates, neighbours)
        selected: dict[int, Link] = {}
        self._kinds = {}
        for kind, places in chosen.items():
            links = [self._link_to(candidates, i64(place)) for place in places]
            self._kinds[kind] = [link.peer for link in links]
            for link in links:
                selected[link.peer] = link
        if selected.keys() != self.table.keys():
            self._replace_table(selected)

    def _renew_neighbours(self, hearsay: Sightings) -> None:
        """Take over the newer part of what others tell of this peer's neighbours."""
        links = list(self.table.values())
        _PLACES.clear()
        place: i64
        for place in range(len(links)):
            _PLACES.note(i64(links[int(place)].peer), place)
        for place in range(len(hearsay.peers)):
            known = _PLACES.find(hearsay.peers[place])
            if known != NOWHERE:
                links[int(known)].renew(hearsay.profiles[int(place)], hearsay.heard[place])

    def _add_candidates(self, candidates: Sightings, sightings: Sightings) -> None:
        """Keep the latest word of each peer that is not known to be silent.

        Word from before its silence does not bring a peer back.
        """
        oldest = self.environment.now - self._stale
        own: i64 = self._own.peer
        peers, times = sightings.peers, sightings.heard
        place: i64
        for place in range(len(peers)):
            peer, heard = peers[place], times[place]
            if heard < oldest or peer == own:
                continue
            if self._silent:
                silent = self._silent.get(int(peer))
                if silent is not None and heard <= silent:
                    continue
            end: i64 = len(candidates.profiles)
            known = _PLACES.note(peer, end)
            if known == end:
                candidates.add(sightings.profiles[int(place)], heard)
            elif heard > candidates.heard[known]:
                candidates.replace(known, sightings.profiles[int(place)], heard)

    def _link_to(self, candidates: Sightings, place: i64) -> Link:
        """Return the link to a selected peer: the present one, or a new one."""
        profile, heard = candidates.profiles[int(place)], candidates.heard[place]
        link = self.table.get(profile.peer)
        if link is None:
            link = self.incoming.pop(profile.peer, None)
        if link is None:
            return Link(profile, heard)
        link.renew(profile, heard)
        return link

    def _replace_table(self, selected: dict[int, Link]) -> None:
        former, self.table = self.table, selected
        self.links_version += 1
        self._rebuild_routes()
        for peer, link in former.items():
            if peer not in selected:
                if link.said is not None:
                    # The peer may still count on this link for a round; both sides let it fade alike.
                    self.incoming[peer] = link
                self.tell_change(_contact(link), False)
        for peer, link in selected.items():
            if peer not in former:
                self.tell_change(_contact(link), True)

    def _rebuild_routes(self) -> None:
        self._routes.rebuild([_contact(link) for link in self.table.values()])
        self.routes_version += 1


def _contact(link: Link) -> Contact:
    return Contact(link.peer, link.profile.identifier)
