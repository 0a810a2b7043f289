"""T-Man: a topology by gossip (Jelasity, Babaoglu, 2006), as Vitis uses it (Algorithms 2 and 3).

Each round a peer exchanges its routing table, fresh random peers and itself with a random neighbour;
both merge what they have with what they got and select their neighbours anew.
"""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message
from trellis.v1.overlay_pb2 import TManExchange

from emulator.gossip.descriptor import Descriptor, Sighting, ages_ms, merge, told
from emulator.protocol import Environment, Handler

Select = Callable[[list[Sighting]], None]
"""Selects this peer's neighbours anew among those, the sample and what a message told of."""


class TMan:
    """The exchange; what makes a good neighbour is the overlay's business."""

    def __init__(
        self,
        environment: Environment,
        *,
        own: Callable[[], Descriptor],
        sample: Callable[[], list[Sighting]],
        table: Callable[[], list[Sighting]],
        select: Select,
    ) -> None:
        self._environment = environment
        self._own = own
        self._sample = sample
        self._table = table
        self._select = select

    def handlers(self) -> dict[type[Message], Handler]:
        return {TManExchange: self._on_exchange}

    def exchange(self) -> None:
        """The active thread's round (Algorithm 2)."""
        table = self._table()
        if not table:
            self._select([])
            table = self._table()
        if table:
            partner = self._environment.random.choice(table)[1].peer
            self._environment.send(partner, self._message(self._buffer(), reply=False))

    def _on_exchange(self, sender: int, message: TManExchange) -> None:
        """The passive thread (Algorithm 3), and the end of the active one (Algorithm 2, lines 6 to 8)."""
        if not message.reply:
            self._environment.send(sender, self._message(self._buffer(), reply=True))
        self._select(told(message.profiles, message.ages_ms, self._environment.now))

    def _buffer(self) -> dict[int, Sighting]:
        buffer: dict[int, Sighting] = {}
        merge(buffer, self._table())
        merge(buffer, self._sample())
        return buffer

    def _message(self, buffer: dict[int, Sighting], *, reply: bool) -> TManExchange:
        sightings = list(buffer.values())
        return TManExchange(
            reply=reply,
            profiles=[self._own().encoded, *(descriptor.encoded for _, descriptor in sightings)],
            ages_ms=[0, *ages_ms(sightings, self._environment.now)],
        )
