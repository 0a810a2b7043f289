"""T-Man: a topology by gossip (Jelasity, Babaoglu, 2006), as Vitis uses it (Algorithms 2 and 3).

Each round a peer exchanges its routing table, fresh random peers and itself with a random neighbour;
both merge what they have with what they got and select their neighbours anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.compact.peer_positions import NOWHERE, PeerPositions
from emulator.contract.protocol import Environment
from emulator.protocols.gossip.sightings import Sightings, age_ms, told
from trellis.v1.overlay import Profile, TManExchange

_PLACES: Final = PeerPositions()


class TMan:
    """The exchange of T-Man. The overlay decides what makes a good neighbour."""

    def __init__(
        self,
        environment: Environment,
        *,
        own: Callable[[], Profile],
        sample: Callable[[], Sightings],
        table: Callable[[], Sightings],
        select: Callable[[Sightings], None],
    ) -> None:
        """`own` returns this peer's profile, `sample` random peers, `table` the neighbours.

        `select` selects the neighbours anew among those, the sample and the sightings that it is given.
        """
        self._environment = environment
        self._own = own
        self._sample = sample
        self._table = table
        self._select = select
        environment.handle(TManExchange, self._on_exchange)

    def exchange(self) -> None:
        """Run a round of the active thread (Algorithm 2)."""
        table = self._table()
        if not len(table):
            self._select(Sightings())
            table = self._table()
        if len(table):
            partner = self._environment.random.choice(table.profiles).peer
            self._environment.send(partner, self._message(reply=False))

    def _on_exchange(self, sender: int, message: TManExchange) -> None:
        """Act as the passive thread (Algorithm 3), and end the active one (Algorithm 2, lines 6 to 8)."""
        if len(message.profiles) != len(message.ages_ms):
            self._environment.drop(TManExchange, "its lists do not fit together")
            return
        if not message.reply:
            self._environment.send(sender, self._message(reply=True))
        self._select(told(message.profiles, message.ages_ms, self._environment.now))

    def _message(self, *, reply: bool) -> TManExchange:
        """Return the routing table merged with the random peers, and this peer itself."""
        now = self._environment.now
        table, sample = self._table(), self._sample()
        profiles = [self._own(), *table.profiles]
        ages = append(vec[i64](capacity=1 + len(table) + len(sample)), i64(0))
        _PLACES.clear()
        place: i64
        for place in range(len(table)):
            _PLACES.note(table.peers[place], place)
            ages = append(ages, age_ms(table.heard[place], now))
        for place in range(len(sample)):
            if _PLACES.find(sample.peers[place]) == NOWHERE:
                profiles.append(sample.profiles[int(place)])
                ages = append(ages, age_ms(sample.heard[place], now))
        return TManExchange(reply, profiles, ages)
