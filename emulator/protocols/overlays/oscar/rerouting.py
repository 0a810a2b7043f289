"""Rerouting: a message whose next hop turns out unreachable is sent another way, and each arrives once.

The network says of each single message that it failed, so what had arrived is not sent again for a peer that
went later. A message may also end with the peer that had it; then its origin, which gets no word of it,
sends it once more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final

from emulator.compact.number_sets import LARGEST
from emulator.contract.protocol import Environment, Message, Overlay, Timer
from emulator.contract.recent import RecentNumbers
from emulator.protocols.overlays.hop_by_hop import MOST_HOPS
from trellis.v1.oscar import RouteEnd
from trellis.v1.overlay import Contact, Routed

_ARRIVED: Final = 5.0
"""The seconds after which a message has arrived; otherwise the network would have reported a failure."""
_PATIENCE: Final = 5.0
"""The seconds after which an origin that got no word of its message sends it once more."""
_TRIES: Final = 3
"""The most times that an origin sends a message."""
_MEMORY: Final = 30.0
"""The least seconds for which a peer remembers which messages ended here."""
_SESSION: Final = 1 << 20
"""The count of message numbers that each session has for itself."""

_REFUSED: Final = 0
"""The number of no message: a peer that is not on the ring is no key's home and passes nothing on."""


class Rerouting:
    """The part of one peer."""

    def __init__(self, environment: Environment, overlay: Overlay, absent: Callable[[int], None]) -> None:
        """`overlay` knows the next hop and the applications; `absent` is told of peers that are not on the
        ring."""
        self._environment = environment
        self._overlay = overlay
        self._absent = absent
        # A peer that comes back must not repeat the numbers of its last session.
        self._sequence = environment.session * _SESSION
        self._waiting: dict[int, Timer] = {}
        """The next tries of this peer's own messages, by number."""
        self._unsent: set[int] = set()
        """The numbers of those that wait until this peer is on the ring."""
        self._on_the_way: deque[tuple[float, int, Timer]] = deque()
        """What was sent in the last seconds: time of sending (s), next hop and request, the oldest first."""
        self._ended = RecentNumbers(environment, _MEMORY)
        environment.serve(Routed, self._on_routed)
        environment.handle(RouteEnd, self._on_end)

    def route(self, key: int, message: Message) -> None:
        """Send this peer's own message towards the key."""
        self._sequence += 1
        own = Contact(self._environment.peer, self._overlay.identifier)
        self._try(Routed(key, own, 0, message, self._sequence), _TRIES)

    def stand(self) -> None:
        """Send at once what waited for this peer's place on the ring."""
        for sequence in sorted(self._unsent):
            if (again := self._waiting.get(sequence)) is not None:
                again.hasten()
        self._unsent.clear()

    def forget_old(self) -> None:
        """Drop the messages that have arrived."""
        now = self._environment.now
        while self._on_the_way and self._on_the_way[0][0] < now - _ARRIVED:
            self._on_the_way.popleft()[2].cancel()

    def _try(self, routed: Routed, left: int) -> None:
        """Send this peer's own message, up to `left` times until there is word of it."""
        self._waiting.pop(routed.sequence, None)
        if left > 1:
            again = self._environment.set_timer(_PATIENCE, partial(self._try, routed, left - 1))
            self._waiting[routed.sequence] = again
        if self._overlay.ready:
            self._pass_on(routed)
        else:
            self._unsent.add(routed.sequence)

    def _pass_on(self, routed: Routed) -> None:
        """Deliver the message if there is no next hop, otherwise send it on if the application agrees.

        A peer that has left the ring since it sent the message passes it on no more: its origin sends it once
        more.
        """
        key, message, origin, hops = routed.key, routed.message, routed.origin, routed.hops
        if message is None or origin is None or hops >= MOST_HOPS:
            self._environment.drop(Routed, "it lacks a part" if hops < MOST_HOPS else "it went too many hops")
            return
        if not self._overlay.ready:
            return
        application = self._overlay.application_of(message)
        hop = self._overlay.next_hop(key)
        if hop is None:
            if self._end(routed, origin):
                application.deliver(key, message, origin, hops)
        elif application.forward(key, message, hop.peer, hops):
            self._send(hop.peer, routed, Routed(key, origin, hops + 1, message, routed.sequence))
        else:
            self._end(routed, origin)

    def _send(self, peer: int, came: Routed, sent: Routed) -> None:
        """Send on what came as `came`. The network says if it failed, the peer if it is off the ring."""
        now = self._environment.now
        failed = partial(self._lost, peer, now, came)
        refused = partial(self._refused, peer, came)
        self._on_the_way.append((now, peer, self._environment.request(peer, sent, inf, refused, failed)))

    def _lost(self, peer: int, sent: float, routed: Routed) -> None:
        """Send another way what did not reach `peer`, and at once what went there after it."""
        for at, hop, request in self._on_the_way:
            if hop == peer and at >= sent:
                request.hasten()
        self._pass_on(routed)

    def _refused(self, peer: int, routed: Routed, reply: Message) -> None:
        """Send another way what came to a peer that is not on the ring, or not yet again."""
        self._absent(peer)
        self._pass_on(routed)

    def _end(self, routed: Routed, origin: Contact) -> bool:
        """Tell the origin that its message has ended here. Returns whether it had not before."""
        if origin.peer == self._environment.peer:
            self._on_end(origin.peer, RouteEnd(routed.sequence))
        else:
            self._environment.send(origin.peer, RouteEnd(routed.sequence))
        return self._ended.add((origin.peer << 32 | routed.sequence) & LARGEST)

    def _on_routed(self, sender: int, routed: Routed) -> Message | None:
        """Take a message that goes over this peer; refuse one that was meant for an earlier life or place."""
        if not self._overlay.ready:
            return RouteEnd(_REFUSED)
        self._pass_on(routed)
        return None

    def _on_end(self, sender: int, end: RouteEnd) -> None:
        again = self._waiting.pop(end.sequence, None)
        if again is not None:
            again.cancel()
