"""Kademlia (Maymounkov, Mazieres, IPTPS 2002): distances by exclusive or, k-buckets, iterative lookups.

Read `overlay` first, which is one peer, and `routing_table` with its `k_bucket`s. `known_contacts` says who
is kept there, and what becomes of those that are silent. `node_lookup` finds the k closest peers to a key, by
which `join` brings the peer in, `refresh` keeps the buckets filled, and `carrying` brings messages of
applications to the peer closest to their keys.
"""

from emulator.protocols.overlays.kademlia.overlay import Kademlia
from emulator.protocols.overlays.kademlia.parameters import KademliaParameters

__all__ = ["Kademlia", "KademliaParameters"]
