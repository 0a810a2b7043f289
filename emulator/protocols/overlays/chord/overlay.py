"""Chord: Stoica, Morris, Liben-Nowell, Karger, Kaashoek, Dabek, Balakrishnan: Chord: A scalable peer-to-peer
lookup protocol for Internet applications, ToN 11(1), 2003. SIGCOMM 2001 is its first edition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.identifiers import BITS, ClockwiseRing
from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Contact, Environment, Message, Overlay
from emulator.contract.system import OverlayKind
from emulator.protocols.overlays.chord.find_successor import Searches
from emulator.protocols.overlays.chord.fix_fingers import FixFingers
from emulator.protocols.overlays.chord.forwarding import Forwarding
from emulator.protocols.overlays.chord.join import Join
from emulator.protocols.overlays.chord.merging import Merging
from emulator.protocols.overlays.chord.parameters import ChordParameters
from emulator.protocols.overlays.chord.stabilization import Stabilization
from emulator.protocols.overlays.chord.state import RingState

TIMED_OUT: Final = "hop_timeout"
"""The observation of a peer that a message of an application, or a search for one, found silent."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Chord(Overlay):
    """One peer of the overlay."""

    def __init__(
        self,
        environment: Environment,
        parameters: ChordParameters,
        *,
        space: ClockwiseRing | None = None,
        identifier: int = -1,
    ) -> None:
        """`space` is as wide as hashes, and the identifier the peer's hash, unless they are given."""
        super().__init__(
            environment,
            space or ClockwiseRing(BITS),
            environment.identifier if identifier < 0 else identifier,
        )
        self._period = parameters.stabilization
        self._drop_silent = parameters.drop_silent
        self._beside: list[Contact] = []
        """The predecessor and the successors that applications were told of."""
        me = Contact(environment.peer, self.identifier)
        self.state = RingState(me, self.space, parameters, self._changed, self._lost)
        self._join = Join(environment, parameters, self.state, self._joined)
        self._searches = Searches(
            environment, parameters, self.state, silent=self._silent, lonely=self._join.lonely
        )
        self._join.search_by(self._searches)
        self._merging = Merging(environment, parameters, self.state, self._searches)
        self._stabilization = Stabilization(
            environment,
            parameters,
            self.state,
            failed=self._merging.remember,
            left=self._merging.forget,
        )
        self._fix_fingers = FixFingers(environment, parameters, self.state, self._searches)
        self._forwarding = Forwarding(
            environment,
            parameters,
            self.state,
            self._searches,
            forward=self._forward,
            deliver=self._deliver,
            silent=self._silent,
        )

    @property
    def ready(self) -> bool:
        return self.state.ready

    def start(self, contacts: Sequence[int]) -> None:
        self.move_to(self.identifier)
        self.environment.every(self._period, self._round)
        self._join.start(contacts)

    def stop(self, graceful: bool) -> None:
        if graceful and self.state.ready:
            self._stabilization.leave()

    def on_unreachable(self, peer: int) -> None:
        if self._drop_silent:
            self.state.drop(peer)

    def gauges(self) -> dict[str, float]:
        return {
            "successors": float(len(self.state.successors)),
            "fingers": float(len(list(self.state.fingers))),
        }

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        state = self.state
        successors = [contact.peer for contact in state.successors]
        return {
            "successor": successors[:1],
            "successor list": successors[1:],
            "predecessor": [] if state.predecessor is None else [state.predecessor.peer],
            "finger": [contact.peer for contact in state.fingers],
        }

    def route(self, key: int, message: Message) -> None:
        self._forwarding.route(key, message)

    def next_hop(self, key: int) -> Contact | None:
        if self.state.is_home(key):
            return None
        step = self.state.next_step(key)
        return None if step is None else step.contact

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        predecessor = self.state.predecessor
        nearest = [*self.state.successors, *([] if predecessor is None else [predecessor])]
        return list({contact.peer: contact for contact in nearest}.values())[:count]

    def sample(self, count: int) -> Sequence[int]:
        state = self.state
        known = list({contact.peer: None for contact in [*state.successors, *state.fingers]})
        return self.environment.random.sample(known, min(count, len(known)))

    def _round(self) -> None:
        self._stabilization.round()
        self._fix_fingers.round()
        self._merging.round()

    def _joined(self) -> None:
        self._forwarding.release()
        self._stabilization.stabilize()
        self._fix_fingers.fix_all()

    def _lost(self) -> None:
        """Join again, because no successor is left."""
        self.state.clear()
        self._join.again()

    def _silent(self, peer: int, for_application: bool) -> None:
        if for_application:
            self.environment.record(TIMED_OUT, 1.0, peer)
        self._merging.remember(peer)
        successor = self.state.successors.first
        if not self._drop_silent:
            return
        if successor is not None and successor.peer == peer:
            self._stabilization.stabilize()
        else:
            self.state.drop(peer)

    def _changed(self) -> None:
        self.routes_version += 1
        former, self._beside = self._beside, list(self.neighbour_set(len(self.state.successors) + 1))
        before = {contact.peer for contact in former}
        now = {contact.peer for contact in self._beside}
        for contact in former:
            if contact.peer not in now:
                self.tell_change(contact, False)
        for contact in self._beside:
            if contact.peer not in before:
                self.tell_change(contact, True)

    def _forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        return self.application_of(message).forward(key, message, next_hop, hops)

    def _deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        self.application_of(message).deliver(key, message, origin, hops)


_RING: Final = Invariant(
    "ring_is_one_cycle",
    "First live successors form one ring, ordered by identifiers, to which every joined peer leads (Zave, "
    "IEEE TSE 43(12), 2017: AtLeastOneRing, AtMostOneRing, OrderedRing, ConnectedAppendages).",
    "emulator.protocols.overlays.chord.ring_invariant:broken",
)
CHORD: Final = OverlayKind(
    "chord",
    "Chord, with Zave's ring maintenance",
    "Stoica, Morris, Karger, Kaashoek, Balakrishnan: Chord, SIGCOMM 2001; Stoica et al., ToN 11(1), 2003; "
    "Zave: How to make Chord correct, 2017",
    ChordParameters,
    Chord,
    short_title="Chord",
    invariants=(_RING,),
)
