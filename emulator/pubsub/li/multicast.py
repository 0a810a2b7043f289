"""How probes of an event reach tree nodes: by prefix groups (section 3.4.2), or one by one.

Both go hop by hop over the overlay's own next hops and not in its envelope, so that their costs compare.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from trellis.v1.content_pb2 import ProbePub, ProbePubMulticast

from emulator.identifiers import BITS
from emulator.protocol import Delay, Environment
from emulator.pubsub.li.node import Name
from emulator.pubsub.li.space import Schema
from emulator.pubsub.li.wire import Wire

Probe = ProbePub | ProbePubMulticast


class _Flight:
    """What left in one call, and so belongs to one operation's trace."""

    __slots__ = ("probes", "unreachable", "until")

    def __init__(self, probes: list[tuple[int, Probe]], until: float) -> None:
        self.probes = probes
        """(receiver, message)"""
        self.until = until
        """By then a failure would be known."""
        self.unreachable: frozenset[int] = frozenset()


class ProbeSender:
    """Sends probes on from one peer, none of which is for this peer itself."""

    def __init__(
        self,
        environment: Environment,
        wire: Wire,
        schema: Schema,
        digit_bits: int,
        notice: float,
        again: Callable[[Probe], None],
    ) -> None:
        """`digit_bits` is the overlay's b. What was sent to a peer that turns out to be unreachable within
        `notice` seconds is handed to `again`, in the trace that it was sent in.
        """
        self._environment = environment
        self._wire = wire
        self._schema = schema
        self._digit_bits = digit_bits
        self._notice = notice
        self._again = again
        self._flights: deque[tuple[_Flight, Delay]] = deque()
        """The oldest first, each with what is hastened when something turns out to be unreachable."""

    def multicast(self, event: bytes, names: Sequence[Name], prefix: int, hops: int) -> list[Name]:
        """Program 3.4: a message for each group whose identifiers share one digit more than `prefix`.

        It goes towards one identifier of the group. Returns nodes that turn out to be this peer's.
        """
        own: list[Name] = []
        sent: list[tuple[int, Probe]] = []
        self._send_groups(event, names, prefix, hops, own, sent)
        self._keep(sent)
        return own

    def unicast(self, event: bytes, names: Sequence[Name], hops: int) -> list[Name]:
        """A message for each node. Returns nodes that turn out to be this peer's."""
        own: list[Name] = []
        sent: list[tuple[int, Probe]] = []
        for name in names:
            hop = self._wire.next_hop(self._schema.key(*name))
            if hop is None:
                own.append(name)
            else:
                message = ProbePub(event=event, attribute=name[0], position=name[1], hops=hops + 1)
                self._environment.send(hop, message)
                sent.append((hop, message))
        self._keep(sent)
        return own

    def on_unreachable(self, peer: int) -> None:
        """What was lately sent there goes again, each in its own trace."""
        now = self._environment.now
        for flight, resend in self._flights:
            if flight.until >= now and any(receiver == peer for receiver, _ in flight.probes):
                flight.unreachable |= {peer}
                resend.hasten()

    def _send_groups(
        self,
        event: bytes,
        names: Sequence[Name],
        prefix: int,
        hops: int,
        own: list[Name],
        sent: list[tuple[int, Probe]],
    ) -> None:
        key = self._schema.key
        shift = max(0, BITS - self._digit_bits * (prefix + 1))
        digit = (1 << self._digit_bits) - 1
        groups: dict[int, list[Name]] = {}
        for name in names:
            groups.setdefault(key(*name) >> shift & digit, []).append(name)
        for group in groups.values():
            towards = self._environment.random.choice(group) if len(group) > 1 else group[0]
            hop = self._wire.next_hop(key(*towards))
            if hop is None:
                own.append(towards)
                group.remove(towards)
                if group:
                    self._send_groups(event, group, prefix, hops, own, sent)
                continue
            message = ProbePubMulticast(
                event=event,
                attributes=[attribute for attribute, _ in group],
                positions=[position for _, position in group],
                prefix=prefix + 1,
                hops=hops + 1,
            )
            self._environment.send(hop, message)
            sent.append((hop, message))

    def _keep(self, sent: list[tuple[int, Probe]]) -> None:
        flights, now = self._flights, self._environment.now
        while flights and flights[0][0].until < now and not flights[0][0].unreachable:
            flights.popleft()
        if sent:
            flight = _Flight(sent, now + self._notice)
            resend = self._environment.set_timer(math.inf, partial(self._resend, flight))
            flights.append((flight, resend))

    def _resend(self, flight: _Flight) -> None:
        """What was unreachable goes again; the rest is watched on."""
        self._flights = deque(entry for entry in self._flights if entry[0] is not flight)
        self._keep([entry for entry in flight.probes if entry[0] not in flight.unreachable])
        for receiver, message in flight.probes:
            if receiver in flight.unreachable:
                self._again(message)
