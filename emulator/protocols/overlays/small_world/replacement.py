"""The replacement of a routing table by the candidates that were selected."""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.compact.peer_ranges import NO_PLACE
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.overlays.small_world.heartbeats import NOTHING_SAID
from emulator.protocols.overlays.small_world.links import Links
from trellis.v1.overlay import Contact

_FORMER: Final = Sightings()


def renew_links(table: Links, row: i64, candidates: Sightings, chosen: list[int]) -> bool:
    """Renew the links of a row to the candidates at the places `chosen`.

    Returns whether these are the peers that the row has links to.
    """
    kept: i64 = 0
    for place in chosen:
        link = table.find(row, candidates.peers[place])
        if link != NO_PLACE:
            kept += 1
            table.renew(link, candidates.handles[place], candidates.heard[place])
    return kept == len(chosen) and kept == table.count(row)


def replace_links(
    table: Links, incoming: Links, row: i64, candidates: Sightings, chosen: list[int]
) -> tuple[list[Contact], list[Contact]]:
    """Give a row of `table` the links to the candidates at the places `chosen`, and return who left and who
    joined.

    Each has its present link in either direction, or a new one. A former neighbour that has said something
    stays as an incoming link: it may still count on the link for a round, and both sides let it fade alike.
    """
    former, said = _FORMER, vec[i64](capacity=table.count(row))
    former.clear()
    table.read(row, former)
    place: i64
    for place in range(table.begin(row), table.end(row)):
        said = append(said, table.said[place])
    table.leave(row)
    left: list[Contact] = []
    joined: list[Contact] = []
    for place in chosen:
        peer, handle, heard = candidates.peers[place], candidates.handles[place], candidates.heard[place]
        before = former.find(peer)
        if before >= 0:
            table.add(row, peer, former.handles[before], former.heard[before], said[before])
            continue
        link = incoming.find(row, peer)
        if link == NO_PLACE:
            table.add(row, peer, handle, heard, NOTHING_SAID)
        else:
            incoming.renew(link, handle, heard)
            table.add(row, peer, incoming.handles[link], incoming.heard[link], incoming.said[link])
            incoming.take_out(row, link)
        joined.append(table.contact(table.end(row) - 1))
    for place in range(former.count):
        peer, handle = former.peers[place], former.handles[place]
        if table.find(row, peer) == NO_PLACE:
            if said[place] != NOTHING_SAID:
                incoming.add(row, peer, handle, former.heard[place], said[place])
            left.append(table.contact_of(handle))
    return left, joined
