"""The candidates of a selection: all peers that one peer knows, each with the latest word of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mypy_extensions import i64

from emulator.compact.peer_positions import PeerPositions
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.overlays.small_world.links import Links

_PLACES: Final = PeerPositions()
_LINKED: Final = Sightings()


class Candidates:
    """A list of candidates that is filled for one selection after the other."""

    def __init__(self) -> None:
        self.sightings = Sightings()
        self._own: i64 = -1
        self._oldest = 0.0
        self._silent: Mapping[int, float] = {}

    def begin(self, own: i64, oldest: float, silent: Mapping[int, float]) -> None:
        """Collect candidates for the peer `own`.

        Peers that nobody heard from since `oldest` (s of trial time) are none. `silent` has when peers turned
        out to be unreachable: word from before that does not bring one back.
        """
        _PLACES.clear()
        self.sightings.clear()
        self._own = own
        self._oldest = oldest
        self._silent = silent

    def add_links(self, links: Links, row: i64) -> None:
        """Add the peers at the links of a row."""
        linked = _LINKED
        linked.clear()
        links.read(row, linked)
        self.add(linked)

    def add(self, sightings: Sightings) -> None:
        """Add peers; of those that are there already the latest word is kept."""
        found, own, oldest, silence = self.sightings, self._own, self._oldest, self._silent
        peers, times, handles, places = sightings.peers, sightings.heard, sightings.handles, _PLACES
        place: i64
        for place in range(sightings.count):
            peer, heard = peers[place], times[place]
            if heard < oldest or peer == own:
                continue
            if silence:
                silent = silence.get(int(peer))
                if silent is not None and heard <= silent:
                    continue
            known = places.note(peer, found.count)
            if known == found.count:
                found.add(peer, handles[place], heard)
            elif heard > found.heard[known]:
                found.heard[known] = heard
                found.handles[known] = handles[place]
