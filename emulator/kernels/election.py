"""The plain twin of `election.c`, which has the rule: the election of gateways by Vitis's Algorithm 5."""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i32, i64

_RING: Final = 1 << 62


def elect(
    own: int,
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
    gateways: vec[i32],
    parents: vec[i32],
    hops: vec[i32],
    peers: vec[i64],
    places: vec[i64],
    former_gateways: vec[i64],
    former_parents: vec[i64],
    former_hops: vec[i64],
) -> tuple[vec[i64], ...] | None:
    """Return five vectors, () if the gateways are the former ones, None if gateways are too close."""
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
    own_peer = int(peers[i64(own)])
    # By topic: the gateway's contact and peer, the parent, the hops and the gateway's place.
    found = [(own, own_peer, own_peer, 0, int(places[i64(own)])) for _ in range(len(keys))]
    for neighbour, heartbeat in zip(neighbours[: i64(count)], said[: i64(count)], strict=True):
        if heartbeat < 0 or firsts[heartbeat] < 0:
            continue
        for at, topic in enumerate(topics_of(int(profiles[heartbeat])), int(firsts[heartbeat])):
            place = place_of.get(topic)
            parent, away = int(parents[i64(at)]), int(hops[i64(at)]) + 1
            if (
                place is None
                or (parent != neighbour and (parent == own_peer or parent in known))
                or away >= limit
            ):
                continue
            contact = int(gateways[i64(at)])
            gateway, there = int(peers[i64(contact)]), int(places[i64(contact)])
            if gateway == found[place][1]:
                if away >= found[place][3]:
                    continue
            else:
                key = int(keys[i64(place)])
                gain = distance(found[place][4], key) - distance(there, key)
                if abs(gain) <= 1:
                    return None
                if gain < 0:
                    continue
            found[place] = contact, gateway, int(neighbour), away, there
    elected = [[of_topic[part] for of_topic in found] for part in (1, 2, 3)]
    former = [int(peers[contact]) for contact in former_gateways]
    if elected == [former, list(former_parents), list(former_hops)]:
        return ()
    named = {of_topic[1]: of_topic[0] for of_topic in reversed(found)}
    distinct = list(dict.fromkeys(elected[0]))
    numbers = {gateway: number for number, gateway in enumerate(distinct)}
    return (
        vec[i64]([named[gateway] for gateway in elected[0]]),
        vec[i64](elected[1]),
        vec[i64](elected[2]),
        vec[i64]([numbers[gateway] for gateway in elected[0]]),
        vec[i64]([named[gateway] for gateway in distinct]),
    )
