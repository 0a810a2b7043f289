"""Forwarding hop by hop, with acknowledgements, around silent hops (DSN 2004, reliable routing)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.compact.number_sets import LARGEST
from emulator.contract.protocol import Contact, Environment, Message, Timer
from emulator.contract.recent import RecentNumbers
from emulator.protocols.overlays.pastry.parameters import PastryParameters
from emulator.protocols.overlays.pastry.round_trip import round_trip
from emulator.protocols.overlays.pastry.routing_state import RoutingState
from trellis.v1.overlay import Routed
from trellis.v1.pastry import HopAck, JoinRequest

_MOST_HOPS: Final = 100
"""A message ends after this many hops, because peers that disagree might pass it round for ever."""
_HELD: Final = 256
"""The most messages that a joining peer keeps until it may be their root."""
_HOLD: Final = 30.0
"""The most seconds for which a joining peer keeps a message."""
_MEMORY: Final = 30.0
"""The least seconds for which a peer remembers the messages that it handled."""
_SESSION: Final = 1 << 20
"""The count of message numbers that each session has for itself."""
_TAKEN: Final = HopAck()
_REFUSED: Final = HopAck(refused=True)


class _Passage:
    """A message on its way to a next hop that has not acknowledged it."""

    __slots__ = ("avoided", "hop", "key", "message", "routed", "sent", "timer", "tries")

    def __init__(self, routed: Routed, message: Message, hop: int, avoided: list[int]) -> None:
        self.routed = routed
        self.message = message
        self.key = routed.key
        self.hop = hop
        self.avoided = avoided
        self.tries = 0
        self.sent = 0.0
        self.timer: Timer | None = None


class Forwarding:
    """The messages on their way through this peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        state: RoutingState,
        *,
        forward: Callable[[int, Message, int, Contact, int], bool],
        deliver: Callable[[int, Message, Contact, int], None],
        suspect: Callable[[int], None],
    ) -> None:
        """`forward(key, message, next hop, origin, hops)` is asked whether the message may go on.

        `deliver(key, message, origin, hops)` takes it at its root, `suspect` is told of a silent hop.
        """
        self._environment = environment
        self._longest = parameters.probe_timeout
        self._root_retransmissions = parameters.root_retransmissions
        self._state = state
        self._forward = forward
        self._deliver = deliver
        self._suspect = suspect
        # A peer that comes back must not repeat the numbers of its last session.
        self._sequence = environment.session * _SESSION
        self._passages: dict[_Passage, None] = {}
        self._held: dict[Timer, None] = {}
        self._handled = RecentNumbers(environment, _MEMORY)
        environment.serve(Routed, self._on_routed)

    def route(self, key: int, message: Message) -> None:
        """Route a message of this peer's own."""
        self._pass_on(self._envelope(key, message), message)

    def route_through(self, hop: int, key: int, message: Message) -> None:
        """Route a message of this peer's own over a given first hop."""
        envelope = _with_hops(self._envelope(key, message), 1)
        self._send(_Passage(envelope, message, hop, [self._state.peer]))

    def release(self) -> None:
        """Route the messages that this peer kept while it was joining, because it is ready now."""
        for timer in self._held:
            timer.hasten()
        self._held.clear()

    def lost(self, peer: int) -> None:
        """Route around a peer that is gone what it has not acknowledged."""
        for passage in self._passages:
            if passage.hop == peer and passage.timer is not None:
                passage.timer.hasten()

    def _envelope(self, key: int, message: Message) -> Routed:
        self._sequence += 1
        return Routed(key=key, origin=self._state.me, message=message, sequence=self._sequence)

    def _on_routed(self, sender: int, routed: Routed) -> HopAck:
        self._state.hear(sender)
        message = routed.message
        if message is None or routed.origin is None:
            self._environment.drop(Routed, "it lacks a part")
            return _TAKEN
        # Two peers that are both joining would otherwise wait for each other.
        refused = not self._state.ready and isinstance(message, JoinRequest)
        if not refused and not self._is_repeated(routed, routed.hops):
            self._pass_on(routed, message)
        return _REFUSED if refused else _TAKEN

    def _pass_on(self, routed: Routed, message: Message) -> None:
        origin = routed.origin
        assert origin is not None
        # Others may still know the joining peer from an earlier session.
        avoided = [origin.peer] if isinstance(message, JoinRequest) else []
        hop = self._state.next_hop(routed.key, avoided)
        if hop is None:
            self._arrive(routed, message, routed.hops)
        elif routed.hops >= _MOST_HOPS:
            self._environment.drop(Routed, "it went too many hops")
        elif self._forward(routed.key, message, hop.peer, origin, routed.hops):
            self._send(_Passage(_with_hops(routed, routed.hops + 1), message, hop.peer, avoided))

    def _arrive(self, routed: Routed, message: Message, hops: int) -> None:
        """Deliver a message after this many hops, because this peer is the closest to the key."""
        if not self._state.ready:
            if len(self._held) < _HELD and not isinstance(message, JoinRequest):
                back = _with_hops(routed, hops)
                hold = self._environment.set_timer(_HOLD, lambda: self._let_go(hold, back, message))
                self._held[hold] = None
        elif not self._is_repeated(routed, 0xFF):
            assert routed.origin is not None
            self._deliver(routed.key, message, routed.origin, hops)

    def _let_go(self, hold: Timer, routed: Routed, message: Message) -> None:
        self._held.pop(hold, None)
        if self._state.ready:
            self._pass_on(routed, message)

    def _send(self, passage: _Passage) -> None:
        self._passages[passage] = None
        passage.sent = self._environment.now
        timeout = self._state.round_trips.timeout(passage.hop) * 2**passage.tries
        passage.timer = self._environment.request(
            passage.hop,
            passage.routed,
            min(timeout, self._longest),
            lambda ack: self._on_ack(passage, ack),
            lambda: self._overdue(passage),
        )

    def _on_ack(self, passage: _Passage, ack: Message) -> None:
        if not isinstance(ack, HopAck):
            self._environment.drop(type(ack), "it answers something else")
            self._overdue(passage)
            return
        del self._passages[passage]
        self._state.hear(passage.hop)
        if not passage.tries:
            self._state.round_trips.sample(passage.hop, round_trip(passage.sent, self._environment.now))
        if ack.refused:
            self._go_around(passage)

    def _overdue(self, passage: _Passage) -> None:
        del self._passages[passage]
        hop = passage.hop
        if self._state.heard(hop) <= passage.sent:
            self._suspect(hop)
        is_root = self._state.is_root(hop, passage.key, passage.avoided)
        if is_root and passage.tries < self._root_retransmissions:
            passage.tries += 1
            self._send(passage)
        else:
            self._go_around(passage)

    def _go_around(self, passage: _Passage) -> None:
        passage.avoided.append(passage.hop)
        hop = self._state.next_hop(passage.key, passage.avoided)
        if hop is None:
            self._arrive(passage.routed, passage.message, passage.routed.hops - 1)
            return
        passage.hop = hop.peer
        passage.tries = 0
        self._send(passage)

    def _is_repeated(self, routed: Routed, hops: int) -> bool:
        """Return whether this peer handled the message at this hop count; 255 stands for its delivery."""
        assert routed.origin is not None
        return not self._handled.add((routed.origin.peer << 40 | routed.sequence << 8 | hops) & LARGEST)


def _with_hops(routed: Routed, hops: int) -> Routed:
    return Routed(
        key=routed.key, origin=routed.origin, hops=hops, message=routed.message, sequence=routed.sequence
    )
