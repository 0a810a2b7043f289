"""OSCAR, an overlay for identifiers that may be as dense as the peers choose.

Girdzijauskas, Datta, Aberer: Oscar: A data-oriented overlay for heterogeneous environments, ICDE 2007;
Structured overlay for heterogeneous environments, TAAS 5(1), 2010. The rules are those that Magnet (DEBS
2010, section 2.2) gives: docs/systems/oscar.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.identifiers import BITS, ClockwiseRing, skewed
from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Environment, Message, Overlay
from emulator.contract.system import OverlayKind
from emulator.protocols.overlays.oscar.confirming import Confirming
from emulator.protocols.overlays.oscar.joining import Joining
from emulator.protocols.overlays.oscar.links import LongLinks
from emulator.protocols.overlays.oscar.parameters import OscarParameters, RingParameters
from emulator.protocols.overlays.oscar.rerouting import Rerouting
from emulator.protocols.overlays.oscar.ring import RingNeighbours
from emulator.protocols.overlays.oscar.routes import ClockwiseRoutes
from emulator.protocols.overlays.oscar.sampling import Sampling
from emulator.protocols.overlays.oscar.stabilising import Stabilising
from emulator.protocols.overlays.oscar.wiring import Wiring
from trellis.v1.oscar import RingPlace
from trellis.v1.overlay import Contact, Profile

_AGAIN: Final = 1.0
"""The seconds after which a peer that found no place asks again."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Oscar(Overlay):
    """One peer of the overlay."""

    def __init__(
        self,
        environment: Environment,
        parameters: RingParameters,
        *,
        space: ClockwiseRing | None = None,
        place: Callable[[int], int] | None = None,
        profile: Callable[[], Profile | None] | None = None,
        prefers: Callable[[Profile], float] | None = None,
    ) -> None:
        """`space` is as wide as hashes unless it is given.

        `place` maps the hash of a peer to its place; unless it is given, the place is the hash. `profile`
        returns the interests that this peer tells in answers to walks; with `prefers`, long links go to peers
        that it scores higher.
        """
        super().__init__(environment, space or ClockwiseRing(BITS), 0)
        self._parameters = parameters
        self._place = place or _unchanged
        self.ring = RingNeighbours(self.space, environment.peer, parameters.successors)
        self._routes = ClockwiseRoutes(self.space)
        self._ready = False
        self._neighbours: list[Contact] = []
        self._stale = False
        self._links_version = -1
        self._beside: list[Contact] = []
        self.links = LongLinks(
            environment,
            parameters,
            self.space.mask,
            self,
            prefers,
        )
        self._wiring = Wiring(environment, parameters, self.ring, self.links)
        self._sampling = Sampling(
            environment,
            parameters,
            self.ring,
            self,
            profile or _nothing_told,
            prefers is not None,
            self._wiring.wire,
        )
        self._stabilising = Stabilising(environment, parameters, self.ring, self)
        self._joining = Joining(
            environment,
            parameters,
            self.ring,
            self._routes,
            self,
        )
        self._confirming = Confirming(environment, self.ring, self._joining, self._wiring, self)
        self._forwarding = Rerouting(environment, self, self._drop)
        self._settled: Callable[[], None] = _ignored
        self._contacts: list[int] = []

    def start(self, contacts: Sequence[int]) -> None:
        self.run()
        self.settle_at(self._place(self.environment.identifier), contacts, _ignored)

    def run(self) -> None:
        """Begin to maintain the ring and the links, as soon as the peer stands on the ring."""
        self.environment.every(self._parameters.period, self._round)
        self.environment.every(self._parameters.link_period, self._check_links)

    def stop(self, graceful: bool) -> None:
        if graceful and self._ready:
            self._stabilising.leave()
            self.links.leave()
        self._withdraw()

    def settle_at(
        self,
        identifier: int,
        contacts: Sequence[int],
        settled: Callable[[], None],
        failed: Callable[[], None] | None = None,
    ) -> None:
        """Join the ring at this identifier, asking `contacts`; begin a ring alone if there are none.

        `settled` is called when the peer has its place. It tries until then, or until it calls `failed`, if
        that is given.
        """
        self._settled = settled
        self._contacts = list(contacts)
        if not contacts:
            self._stand(identifier)
            settled()
            return
        first = self._contacts[self.environment.random.randrange(len(self._contacts))]
        self._joining.at(identifier, first, failed or (lambda: self._settle_later(identifier)))

    def settle_behind(self, peer: int, settled: Callable[[], None], failed: Callable[[], None]) -> None:
        """Join the ring between `peer` and its successor, from another place or from none.

        The peer keeps its place until it gets the other one. `failed` is called if no answer comes.
        """
        self._settled = settled
        self._joining.behind(peer, failed)

    def leave_place(self) -> None:
        """Leave the ring, to come back elsewhere."""
        if self._ready:
            self._stabilising.leave()
            self.links.leave()
            self._withdraw()

    def on_unreachable(self, peer: int) -> None:
        self._stabilising.avoid(peer)
        self._drop(peer)

    def _drop(self, peer: int) -> None:
        """Drop a peer that does not answer, or is not on the ring."""
        if self.ring.drop(peer):
            self.ring_changed()
        self.links.drop(peer)

    def gauges(self) -> dict[str, float]:
        return {
            "long_links": float(len(self.links.out)),
            "in_degree": float(len(self.links.incoming)),
            "partitions": float(self._sampling.levels),
            "walk_messages": float(self._sampling.walked),
            "wirings": float(self._wiring.count),
        }

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        before = self.ring.predecessor
        return {
            "successor": [contact.peer for contact in self.ring.successors[:1]],
            "predecessor": [] if before is None else [before.peer],
            "long": list(self.links.out),
        }

    def sample(self, count: int) -> Sequence[int]:
        known = list({contact.peer for contact in [*self.known_peers(), *self.ring.successors]})
        self.environment.random.shuffle(known)
        return known[:count]

    @property
    def ready(self) -> bool:
        return self._ready

    def next_hop(self, key: int) -> Contact | None:
        if not self.ring.successors or self._is_home(key):
            return None
        return self._routes.last_before(key) or self.ring.successors[0]

    def last_before(self, key: int) -> Contact | None:
        """Return the last known peer clockwise up to `key`, its owner included; None if there is none."""
        return self._routes.last_before(key)

    def end_of(self, contact: Contact) -> int | None:
        """Return where the keys end that routes from here lead over `contact`; None if no route does."""
        return self._routes.end_of(contact)

    def route(self, key: int, message: Message) -> None:
        self._forwarding.route(key, message)

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        before = self.ring.predecessor
        nearest = [
            *self.ring.successors[:1],
            *([] if before is None else [before]),
            *self.ring.successors[1:],
        ]
        return list({contact.peer: contact for contact in nearest}.values())[:count]

    def _is_home(self, key: int) -> bool:
        """Return whether the key lies between the predecessor and this peer."""
        before = self.ring.predecessor
        if before is not None:
            return self.ring.offset(key) == 0 or self.ring.offset(key) > self.ring.offset(before.identifier)
        if self.ring.offset(key) == 0:
            return True
        # As long as no predecessor is known, the last known peer takes its part.
        known = [
            self.ring.offset(contact.identifier) for contact in [*self.known_peers(), *self.ring.successors]
        ]
        return self.ring.offset(key) > max(known, default=0)

    def _settle_later(self, identifier: int) -> None:
        """Ask the bootstrap service again: the peers that it named are gone, or not on the ring yet."""

        def ask() -> None:
            self.environment.find_contacts(
                lambda found: self.settle_at(identifier, found or self._contacts, self._settled)
            )

        self.environment.set_timer(_AGAIN, ask)

    def _stand(self, identifier: int) -> None:
        """Stand on the ring at this identifier from now on."""
        self.ring.clear(identifier)
        self._ready = True
        self._wiring.begin()
        self.move_to(identifier)
        self.ring_changed()
        self._forwarding.stand()

    def take_place(self, place: RingPlace) -> None:
        """Take the place that was given, with the successors of the peer that gave it."""
        assert place.own is not None
        self.leave_place()
        self._stand(place.identifier)
        self.ring.precede(place.own)
        self._stabilising.hear_predecessor()
        self.ring.successors = []
        self.ring.learn(place.successors)
        self._sampling.levels = self._sampling.levels or place.levels
        self.ring_changed()
        self._stabilising.round()
        self._settled()

    def part_from(self, peer: int) -> None:
        """Move behind a peer that has the same place: both got it because one of them was taken for gone."""
        if not self._joining.under_way:
            self._joining.behind(peer, _ignored)

    def begin_ring(self, identifier: int) -> None:
        """Begin a ring, because no peer was found that is on one."""
        self._stand(identifier)
        self._settled()

    def _withdraw(self) -> None:
        self._ready = False
        self._joining.cancel()
        self._sampling.cancel()
        self.links.clear()
        self.ring.clear(self.identifier)
        self._beside = []
        self._rebuild()

    def _round(self) -> None:
        self._stabilising.round()
        self._forwarding.forget_old()
        if not self._ready:
            return
        self._confirming.round()
        if not self._sampling.under_way and self._wiring.is_due():
            self._sampling.begin(self.space.size)

    def _check_links(self) -> None:
        if self._ready:
            self.links.check()

    def own_contact(self) -> Contact | None:
        return Contact(self.environment.peer, self.identifier) if self._ready else None

    def incoming_links(self) -> int:
        return len(self.links.incoming)

    def sampled_levels(self) -> int:
        return self._sampling.levels

    def next_on_ring(self) -> int:
        return self.ring.successors[0].peer if self.ring.successors else -1

    def known_peers(self) -> list[Contact]:
        """Return the neighbours in both directions, each once, to which walks may go on."""
        if self._stale or self._links_version != self.links.version:
            self._stale = False
            self._links_version = self.links.version
            found = {contact.peer: contact for contact in self.links.linked()}
            for contact in [*self.ring.successors[:1], self.ring.predecessor]:
                if contact is not None:
                    found[contact.peer] = contact
            self._neighbours = list(found.values())
        return self._neighbours

    def ring_changed(self) -> None:
        former = self._beside
        self._beside = [*self.ring.successors[:1]]
        if self.ring.predecessor is not None and self.ring.predecessor not in self._beside:
            self._beside.append(self.ring.predecessor)
        self._rebuild()
        if self._beside != former:
            for contact in former:
                if contact not in self._beside:
                    self.tell_change(contact, False)
            for contact in self._beside:
                if contact not in former:
                    self.tell_change(contact, True)

    def link_changed(self, come: Contact | None, gone: Contact | None) -> None:
        self._rebuild()
        if come is not None:
            self.tell_change(come, True)
        if gone is not None:
            self.tell_change(gone, False)

    def _rebuild(self) -> None:
        self._stale = True
        self._routes.rebuild(self.ring.own, [*self.links.contacts(), *self.ring.successors[:1]])
        self.routes_version += 1


def _unchanged(identifier: int) -> int:
    return identifier


def _ignored() -> None:
    """Do nothing, because no caller waits for the place."""


def _nothing_told() -> Profile | None:
    return None


def _create(environment: Environment, parameters: OscarParameters) -> Oscar:
    return Oscar(environment, parameters, place=skewed if parameters.identifiers == "skewed" else None)


OSCAR_RING: Final = Invariant(
    "successors_form_one_ring",
    "First live successors form one ring, ordered by identifiers, to which every joined peer leads; so do "
    "live predecessors (the rules of OSCAR's ring are Chord's).",
    "emulator.protocols.overlays.oscar.ring_invariant:broken",
)
OSCAR: Final = OverlayKind(
    name="oscar",
    title="OSCAR",
    paper="Girdzijauskas, Datta, Aberer: Oscar, ICDE 2007; Structured overlay for heterogeneous "
    "environments, TAAS 5(1), 2010",
    parameters=OscarParameters,
    create=_create,
    invariants=(OSCAR_RING,),
)
