"""T-Man: a topology by gossip (Jelasity, Babaoglu, 2006), as Vitis uses it (Algorithms 2 and 3).

Each round a peer exchanges its routing table, fresh random peers and itself with a random neighbour;
both merge what they have with what they got and select their neighbours anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.gossip.sightings import Sighting, age_ms, told
from emulator.protocol import Environment
from trellis.v1.overlay import Profile, TManExchange


class TMan:
    """The exchange; what makes a good neighbour is the overlay's business."""

    def __init__(
        self,
        environment: Environment,
        *,
        own: Callable[[], Profile],
        sample: Callable[[], Sequence[Sighting]],
        table: Callable[[], Sequence[Sighting]],
        select: Callable[[Sequence[Sighting]], None],
    ) -> None:
        """`own` gives this peer's profile, `sample` random peers, `table` the neighbours.

        `select` selects the neighbours anew among those, the sample and the sightings that it is given.
        """
        self._environment = environment
        self._own = own
        self._sample = sample
        self._table = table
        self._select = select
        environment.handle(TManExchange, self._on_exchange)

    def exchange(self) -> None:
        """The active thread's round (Algorithm 2)."""
        table = self._table()
        if not table:
            self._select(())
            table = self._table()
        if table:
            partner = self._environment.random.choice(table).profile.peer
            self._environment.send(partner, self._message(reply=False))

    def _on_exchange(self, sender: int, message: TManExchange) -> None:
        """The passive thread (Algorithm 3), and the end of the active one (Algorithm 2, lines 6 to 8)."""
        if not message.reply:
            self._environment.send(sender, self._message(reply=True))
        self._select(told(message.profiles, message.ages_ms, self._environment.now))

    def _message(self, *, reply: bool) -> TManExchange:
        """The routing table merged with the random peers, and this peer itself."""
        now = self._environment.now
        profiles = [self._own()]
        ages = [0]
        neighbours: set[int] = set()
        for sighting in self._table():
            neighbours.add(sighting.profile.peer)
            profiles.append(sighting.profile)
            ages.append(age_ms(sighting, now))
        for sighting in self._sample():
            if sighting.profile.peer not in neighbours:
                profiles.append(sighting.profile)
                ages.append(age_ms(sighting, now))
        return TManExchange(reply, profiles, ages)
