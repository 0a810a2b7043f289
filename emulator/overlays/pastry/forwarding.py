"""Hop by hop, with acknowledgements and around hops that do not answer (DSN 2004, reliable routing)."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message
from trellis.v1.overlay_pb2 import Routed
from trellis.v1.pastry_pb2 import HopAck, JoinRequest

from emulator import identifiers
from emulator.messages import message_class
from emulator.overlays.pastry.parameters import PastryParameters
from emulator.overlays.pastry.routing_state import RoutingState
from emulator.protocol import Delay, Environment, Handler

_JOIN_REQUEST = JoinRequest.DESCRIPTOR.name
_MOST_HOPS = 100
"""Ends what would go round for ever between peers that disagree."""
_HELD = 256
"""Messages that a joining peer keeps until it may be their root."""
_HOLD = 30.0
"""Seconds for which it keeps each at most."""
_MEMORY = 30.0
"""Seconds for which a peer knows what it handled, at least."""


class _Pending:
    """A message that the next hop has not acknowledged."""

    __slots__ = ("avoided", "hop", "hop_lost", "key", "message", "routed", "sent", "timer", "tries")

    def __init__(self, routed: Routed, message: Message, key: int, hop: int, avoided: list[int]) -> None:
        self.routed = routed
        self.message = message
        self.key = key
        self.hop = hop
        self.hop_lost = False
        self.avoided = avoided
        self.tries = 0
        self.sent = 0.0
        self.timer: Delay | None = None


def _number(origin: int, sequence: int, hops: int) -> int:
    return origin << 40 | sequence << 8 | hops


class Forwarding:
    """Messages on their way through this peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        state: RoutingState,
        *,
        forward: Callable[[int, Message, int, Routed], bool],
        deliver: Callable[[int, Message, Routed], None],
        suspect: Callable[[int], None],
    ) -> None:
        """`forward(key, message, next hop, envelope)` is asked whether the message may go on, `deliver(key,
        message, envelope)` takes it at its root, `suspect` is told a hop that was silent."""
        self._environment = environment
        self._longest = parameters.probe_timeout
        self._root_retransmissions = parameters.root_retransmissions
        self._state = state
        self._forward = forward
        self._deliver = deliver
        self._suspect = suspect
        # A peer that comes back may not repeat the numbers of its last session.
        self._sequence = int(environment.now * 1000)
        self._pending: dict[int, _Pending] = {}
        self._held: dict[Delay, None] = {}
        self._handled: set[int] = set()
        self._handled_before: set[int] = set()
        self._turned = environment.now

    def handlers(self) -> dict[type[Message], Handler]:
        return {Routed: self._on_routed, HopAck: self._on_ack}

    def route(self, key: int, message: Message) -> None:
        """Send a message of this peer's own."""
        self._pass_on(self._envelope(key, message), message)

    def route_through(self, hop: int, key: int, message: Message) -> None:
        """The same with a given first hop."""
        self._go(_Pending(_onward(self._envelope(key, message)), message, key, hop, [self._state.peer]))

    def release(self) -> None:
        """This peer is ready: route what it kept."""
        for timer in self._held:
            timer.hasten()
        self._held.clear()

    def lost(self, peer: int) -> None:
        """The peer is gone: route what it has not acknowledged around it."""
        for pending in [pending for pending in self._pending.values() if pending.hop == peer]:
            pending.hop_lost = True
            assert pending.timer is not None
            pending.timer.hasten()

    def stop(self) -> None:
        """Forget what is on its way."""
        for pending in self._pending.values():
            if pending.timer is not None:
                pending.timer.cancel()
        for timer in self._held:
            timer.cancel()
        self._pending.clear()
        self._held.clear()

    def _envelope(self, key: int, message: Message) -> Routed:
        self._sequence += 1
        return Routed(
            key=identifiers.encode(key),
            origin=self._state.peer,
            type=type(message).__name__,
            payload=message.SerializeToString(),
            sequence=self._sequence,
        )

    def _on_routed(self, sender: int, routed: Routed) -> None:
        self._state.hear(sender)
        # Two peers that are both joining would otherwise wait for each other.
        refused = routed.type == _JOIN_REQUEST and not self._state.ready
        self._environment.send(
            sender,
            HopAck(origin=routed.origin, sequence=routed.sequence, hops=routed.hops, refused=refused),
        )
        if not refused and not self._is_repeated(_number(routed.origin, routed.sequence, routed.hops)):
            self._pass_on(routed, message_class(routed.type).FromString(routed.payload))

    def _pass_on(self, routed: Routed, message: Message) -> None:
        key = identifiers.decode(routed.key)
        # Others may still know the joining peer from an earlier session.
        avoided = [routed.origin] if routed.type == _JOIN_REQUEST else []
        hop = self._state.next_hop(key, avoided)
        if hop is None:
            self._arrive(key, routed, message)
        elif routed.hops < _MOST_HOPS and self._forward(key, message, hop, routed):
            self._go(_Pending(_onward(routed), message, key, hop, avoided))

    def _arrive(self, key: int, routed: Routed, message: Message) -> None:
        if not self._state.ready:
            if len(self._held) < _HELD and routed.type != _JOIN_REQUEST:
                hold = self._environment.set_timer(_HOLD, lambda: self._let_go(hold, routed, message))
                self._held[hold] = None
        elif not self._is_repeated(_number(routed.origin, routed.sequence, 0xFF)):
            self._deliver(key, message, routed)

    def _let_go(self, hold: Delay, routed: Routed, message: Message) -> None:
        self._held.pop(hold, None)
        if self._state.ready:
            self._pass_on(routed, message)

    def _go(self, pending: _Pending) -> None:
        routed = pending.routed
        self._pending[_number(routed.origin, routed.sequence, routed.hops)] = pending
        self._send(pending)

    def _send(self, pending: _Pending) -> None:
        pending.sent = self._environment.now
        timeout = self._state.round_trips.timeout(pending.hop) * 2**pending.tries
        pending.timer = self._environment.set_timer(
            min(timeout, self._longest), lambda: self._overdue(pending)
        )
        self._environment.send(pending.hop, pending.routed)

    def _on_ack(self, sender: int, ack: HopAck) -> None:
        self._state.hear(sender)
        number = _number(ack.origin, ack.sequence, ack.hops)
        pending = self._pending.get(number)
        if pending is None:
            return
        if sender == pending.hop and not pending.tries:
            self._state.round_trips.sample(sender, self._environment.now - pending.sent)
        if not ack.refused:
            del self._pending[number]
            assert pending.timer is not None
            pending.timer.cancel()
        elif sender == pending.hop:
            self._go_around(pending)

    def _overdue(self, pending: _Pending) -> None:
        hop = pending.hop
        if pending.hop_lost:
            self._go_around(pending)
            return
        if self._state.heard(hop) <= pending.sent:
            self._suspect(hop)
        if pending.tries < self._root_retransmissions and self._state.is_root(hop, pending.key):
            pending.tries += 1
            self._send(pending)
        else:
            self._go_around(pending)

    def _go_around(self, pending: _Pending) -> None:
        routed = pending.routed
        if pending.timer is not None:
            pending.timer.cancel()
        pending.avoided.append(pending.hop)
        hop = self._state.next_hop(pending.key, pending.avoided)
        if hop is not None:
            pending.hop = hop
            pending.hop_lost = False
            pending.tries = 0
            self._send(pending)
            return
        del self._pending[_number(routed.origin, routed.sequence, routed.hops)]
        back = Routed()
        back.CopyFrom(routed)
        back.hops -= 1
        self._arrive(pending.key, back, pending.message)

    def _is_repeated(self, number: int) -> bool:
        now = self._environment.now
        if now - self._turned > _MEMORY:
            self._handled_before = self._handled
            self._handled = set()
            self._turned = now
        if number in self._handled or number in self._handled_before:
            return True
        self._handled.add(number)
        return False


def _onward(routed: Routed) -> Routed:
    return Routed(
        key=routed.key,
        origin=routed.origin,
        hops=routed.hops + 1,
        type=routed.type,
        payload=routed.payload,
        sequence=routed.sequence,
    )
