"""The invariant of GossipSub: a link of a mesh has two ends ("Mesh Maintenance" of gossipsub v1.0).

A GRAFT puts its sender into the mesh of the receiver, which answers PRUNE if it does not want that, so a link
has one end only while the word of it is on its way. Links count between peers of which each is connected to
the other: of one that came back soon after a crash, others may take a while to notice that their connections
have ended. The specification has connections that lose nothing: where the network loses messages, a link may
keep one end.
"""

from __future__ import annotations

from typing import Any, Final

from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.pubsub.gossipsub.system import GossipSub

UNDER_WAY: Final = 2.0
"""The seconds for which a mesh must not have changed at either end, as the measure `mesh_one_end_lasting` has
it."""


def broken(up: PeersUp) -> Broken | None:
    """Return the first peers whose meshes hold a peer that does not hold them."""
    peers = dict(up.parts(GossipSub))
    lasting = [
        (peer, other, topic)
        for peer, here in peers.items()
        for topic, members in here.meshes.members.items()
        if _is_settled(here, topic, up.now)
        for other in members
        if other in peers and _lacks(peers[other], topic, peer) and _is_settled(peers[other], topic, up.now)
    ]
    if not lasting:
        return None
    peer, other, topic = lasting[0]
    text = (
        f"{len(lasting)} links of meshes have one end, such as that of topic {topic} from {peer} to {other}"
    )
    return Broken(list(dict.fromkeys(each[0] for each in lasting))[:5], text)


def _lacks(gossipsub: Any, topic: int, other: int) -> bool:
    """Return whether a peer that is connected to the other one does not have it in its mesh of the topic."""
    members = gossipsub.meshes.members.get(topic)
    return members is not None and other not in members and other in gossipsub.connections.peers


def _is_settled(gossipsub: Any, topic: int, now: float) -> bool:
    changed: float = gossipsub.meshes.changed_at.get(topic, 0.0)
    return now - changed >= UNDER_WAY
