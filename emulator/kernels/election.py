"""The plain twin of `election.c`, which has the rule: the election of gateways by Vitis's Algorithm 5."""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i32, i64

_RING: Final = 1 << 62
_OWN: Final = -1
"""The number that stands in place of a heartbeat where a peer proposes itself."""


def elect(
    own: int,
    here: int,
    limit: int,
    profile: int,
    keys: vec[i64],
    neighbours: vec[i64],
    said: vec[i64],
    count: int,
    topics: vec[i32],
    begins: vec[i64],
    sizes: vec[i64],
    profiles: vec[i64],
    firsts: vec[i64],
    gateways: vec[i64],
    places: vec[i64],
    which: vec[i64],
    parents: vec[i64],
    hops: vec[i64],
    former_gateways: vec[i64],
    former_parents: vec[i64],
    former_hops: vec[i64],
) -> tuple[vec[i64], ...] | None:
    """Return seven vectors, () if the gateways are the former ones, None if gateways are too close."""
    if not 0 <= count <= min(len(neighbours), len(said)):
        raise ValueError(f"there are no {count} neighbours")

    def topics_of(handle: int) -> list[int]:
        begin, size = begins[i64(handle)], sizes[i64(handle)]
        if not (begin >= 0 and size >= 0 and begin + size <= len(topics)):
            raise IndexError(f"the topics of handle {handle} are not there")
        return [int(topic) for topic in topics[begin : begin + size]]

    def distance(place: int, key: int) -> int:
        return min((place - key) % _RING, (key - place) % _RING)

    place_of = {topic: place for place, topic in enumerate(topics_of(profile))}
    if len(place_of) != len(keys):
        raise ValueError("topics and keys do not fit together")
    known = {int(peer) for peer in neighbours[: i64(count)]}
    # By topic: the gateway, the parent, the hops, the gateway's place, the heartbeat that names it, and which
    # of the gateways there it is.
    found = [(own, own, 0, here, _OWN, 0) for _ in range(len(keys))]
    for neighbour, heartbeat in zip(neighbours[: i64(count)], said[: i64(count)], strict=True):
        if heartbeat < 0 or firsts[heartbeat] < 0:
            continue
        for at, topic in enumerate(topics_of(int(profiles[heartbeat])), int(firsts[heartbeat])):
            place = place_of.get(topic)
            gateway, parent, away = int(gateways[i64(at)]), int(parents[i64(at)]), int(hops[i64(at)]) + 1
            if place is None or (parent != neighbour and (parent == own or parent in known)) or away >= limit:
                continue
            there = int(places[i64(at)])
            if gateway == found[place][0]:
                if away >= found[place][2]:
                    continue
            else:
                key = int(keys[i64(place)])
                gain = distance(found[place][3], key) - distance(there, key)
                if abs(gain) <= 1:
                    return None
                if gain < 0:
                    continue
            found[place] = gateway, int(neighbour), away, there, int(heartbeat), int(which[i64(at)])
    by_topic = [[of_topic[part] for of_topic in found] for part in range(4)]
    if by_topic[:3] == [list(former_gateways), list(former_parents), list(former_hops)]:
        return ()
    named = {of_topic[0]: of_topic[4:] for of_topic in reversed(found)}
    distinct = list(dict.fromkeys(by_topic[0]))
    numbers = {gateway: number for number, gateway in enumerate(distinct)}
    return (
        *(vec[i64](part) for part in by_topic),
        vec[i64]([numbers[gateway] for gateway in by_topic[0]]),
        *(vec[i64]([named[gateway][part] for gateway in distinct]) for part in range(2)),
    )
