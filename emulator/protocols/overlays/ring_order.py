"""A check that the peers of an overlay form one ordered ring, by what each takes for the next peer."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.contract.invariants import Broken


def broken_both_ways(
    after: Mapping[int, int], before: Mapping[int, int], identifiers: Mapping[int, int], mask: int
) -> Broken | None:
    """Return where `after` forms several rings or one that is not ordered, or else where `before` does.

    `before` has the peer that each takes for the next one anticlockwise. Two ordered rings of the same peers,
    one each way, are one ring whose neighbours agree.
    """
    found = broken_ring(after, identifiers, mask)
    if found is None:
        mirrored = {peer: mask - identifier for peer, identifier in identifiers.items()}
        found = broken_ring(before, mirrored, mask)
        if found is not None:
            return Broken(found.peers, f"by predecessors, {found.text}")
    return found


def broken_ring(after: Mapping[int, int], identifiers: Mapping[int, int], mask: int) -> Broken | None:
    """Return where peers form several rings, or one that goes round more than once; None if neither.

    `after` has the peer that each takes for the next one clockwise, and `identifiers` those of all, on a ring
    whose identifiers fill the bits of `mask`. Peers that lead into the ring but are not on it may be there.
    """
    leads_to: dict[int, int] = {}
    rings: list[list[int]] = []
    for peer in after:
        walked: list[int] = []
        place = peer
        while place in after and place not in leads_to:
            leads_to[place] = -1
            walked.append(place)
            place = after[place]
        if leads_to.get(place, 0) == -1:
            rings.append(walked[walked.index(place) :])
        for each in walked:
            leads_to[each] = len(rings)
    if len(rings) > 1:
        sizes = " and ".join(str(len(ring)) for ring in rings[:5])
        return Broken([ring[0] for ring in rings], f"there are {len(rings)} rings, of {sizes} peers")
    for ring in rings:
        turn = 0
        for here, there in zip(ring, [*ring[1:], ring[0]], strict=True):
            turn += (identifiers[there] - identifiers[here]) & mask
        if len(ring) > 1 and turn != mask + 1:
            return Broken(ring[:5], "the ring goes round more than once: it is not ordered")
    return None
