"""T-Man: a topology by gossip (Jelasity, Babaoglu, 2006), as Vitis uses it (Algorithms 2 and 3).

Each round a peer exchanges its routing table, fresh random peers and itself with a random neighbour;
both merge what they have with what they got and select their neighbours anew.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from mypy_extensions import i64, mypyc_attr, trait

from emulator.compact.peer_positions import NOWHERE, PeerPositions
from emulator.compact.peer_rows import PeerRows
from emulator.contract.draws import below
from emulator.contract.protocol import Environment
from emulator.protocols.gossip.exchanges import ExchangePartner, Exchanges
from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.sightings import Sightings
from trellis.v1.overlay import Profile, TManExchange

_NOTHING: Final = Sightings()
_PLACES: Final = PeerPositions()
_KNOWN: Final = Sightings()
_SAMPLE: Final = Sightings()


@mypyc_attr(allow_interpreted_subclasses=True)
@trait
class Topology:
    """An overlay that is built by T-Man: it decides what makes a good neighbour."""

    @abstractmethod
    def own_profile(self) -> Profile:
        """Return this peer's profile."""

    @abstractmethod
    def read_table(self, sightings: Sightings) -> None:
        """Add the neighbours."""

    @abstractmethod
    def read_sample(self, sightings: Sightings) -> None:
        """Add random peers."""

    @abstractmethod
    def select(self, told: Sightings) -> None:
        """Select the neighbours anew among those, the random peers and those that this peer was told of."""


class TMan(ExchangePartner):
    """The exchange of T-Man."""

    def __init__(self, environment: Environment, topology: Topology, most: int) -> None:
        """`most` peers are in the table and the sample together."""
        self._environment = environment
        self._topology = topology
        rows = environment.shared(PeerRows)
        self._profiles = environment.shared(ProfileHandles)
        self._exchanges = environment.shared(
            Exchanges, environment.name, TManExchange, rows, self._profiles, 1 + most
        )
        self._exchanges.join(rows.row(environment.peer), self)
        environment.handle(TManExchange, self._on_message)

    def exchange(self) -> None:
        """Run a round of the active thread (Algorithm 2)."""
        table = self._table()
        if not table.count:
            self._topology.select(_NOTHING)
            table = self._table()
        if table.count:
            place: i64 = below(self._environment.random, int(table.count))
            self._send(int(table.peers[place]), reply=False)

    def take_exchange(self, sender: int, reply: bool, told: Sightings) -> None:
        """Act as the passive thread (Algorithm 3), and end the active one (Algorithm 2, lines 6 to 8)."""
        if not reply:
            self._send(sender, reply=True)
        self._topology.select(told)

    def _send(self, receiver: int, *, reply: bool) -> None:
        """Send the routing table merged with the random peers, and this peer itself."""
        now, known, sample = self._environment.now, _KNOWN, _SAMPLE
        known.clear()
        known.add(self._environment.peer, self._profiles.take(self._topology.own_profile()), now)
        self._topology.read_table(known)
        _PLACES.clear()
        place: i64
        for place in range(1, known.count):
            _PLACES.note(known.peers[place], place)
        sample.clear()
        self._topology.read_sample(sample)
        for place in range(sample.count):
            if _PLACES.find(sample.peers[place]) == NOWHERE:
                known.add(sample.peers[place], sample.handles[place], sample.heard[place])
        exchange = self._exchanges.compose(reply, known, now)
        self._environment.send_row(receiver, self._exchanges, exchange)
        self._exchanges.release(exchange)

    def _on_message(self, sender: int, message: TManExchange) -> None:
        """Take an exchange that came as a message, from another host or through a runtime without rows."""
        told = Sightings()
        if wrong := told.tell(message.profiles, message.ages_ms, self._environment.now, self._profiles):
            self._environment.drop(TManExchange, wrong)
        else:
            self.take_exchange(sender, message.reply, told)

    def _table(self) -> Sightings:
        table = _KNOWN
        table.clear()
        self._topology.read_table(table)
        return table
