"""How probes of an event reach tree nodes: by prefix groups (section 3.4.2), or one by one.

Both go hop by hop over the overlay's own next hops and not in its envelope, so that their costs compare.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from trellis.v1.content_pb2 import ProbePub, ProbePubMulticast

from emulator.identifiers import BITS
from emulator.protocol import Environment
from emulator.pubsub.li.node import Name
from emulator.pubsub.li.space import Schema
from emulator.pubsub.li.wire import Wire

_REMEMBERED = 1024


class ProbeSender:
    """Sends probes on from one peer, none of which is for this peer itself."""

    def __init__(
        self, environment: Environment, wire: Wire, schema: Schema, digit_bits: int, memory: float
    ) -> None:
        """`digit_bits` is the overlay's b; what was sent is remembered for `memory` seconds."""
        self._environment = environment
        self._wire = wire
        self._schema = schema
        self._digit_bits = digit_bits
        self._memory = memory
        self._sent: deque[tuple[float, int, ProbePub | ProbePubMulticast]] = deque(maxlen=_REMEMBERED)

    def multicast(self, event: bytes, names: Sequence[Name], prefix: int, hops: int) -> list[Name]:
        """Program 3.4: a message for each group whose identifiers share one digit more than `prefix`.

        It goes towards one identifier of the group. Returns nodes that turn out to be this peer's.
        """
        key = self._schema.key
        shift = max(0, BITS - self._digit_bits * (prefix + 1))
        digit = (1 << self._digit_bits) - 1
        groups: dict[int, list[Name]] = {}
        for name in names:
            groups.setdefault(key(*name) >> shift & digit, []).append(name)
        own: list[Name] = []
        for group in groups.values():
            towards = self._environment.random.choice(group) if len(group) > 1 else group[0]
            hop = self._wire.next_hop(key(*towards))
            if hop is None:
                own.append(towards)
                group.remove(towards)
                own += self.multicast(event, group, prefix, hops) if group else []
                continue
            message = ProbePubMulticast(
                event=event,
                attributes=[attribute for attribute, _ in group],
                positions=[position for _, position in group],
                prefix=prefix + 1,
                hops=hops + 1,
            )
            self._send(hop, message)
        return own

    def unicast(self, event: bytes, names: Sequence[Name], hops: int) -> list[Name]:
        """A message for each node. Returns nodes that turn out to be this peer's."""
        own: list[Name] = []
        for name in names:
            hop = self._wire.next_hop(self._schema.key(*name))
            if hop is None:
                own.append(name)
            else:
                self._send(hop, ProbePub(event=event, attribute=name[0], position=name[1], hops=hops + 1))
        return own

    def take_back(self, peer: int) -> list[ProbePub | ProbePubMulticast]:
        """What was lately sent to a peer that turned out to be unreachable."""
        lost = [message for _, receiver, message in self._sent if receiver == peer]
        self._sent = deque((entry for entry in self._sent if entry[1] != peer), maxlen=_REMEMBERED)
        return lost

    def _send(self, peer: int, message: ProbePub | ProbePubMulticast) -> None:
        now = self._environment.now
        sent = self._sent
        while sent and sent[0][0] < now - self._memory:
            sent.popleft()
        sent.append((now, peer, message))
        self._environment.send(peer, message)
