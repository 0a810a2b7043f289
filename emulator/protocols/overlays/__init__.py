"""Overlays, which decide which peers are neighbours and how a key finds its peer.

`pastry`, `chord`, `kademlia`, `oscar` and `small_world` are structured overlays with the common API,
`cliques` groups servers that are near each other, and `random_graph` only has neighbours. `lookups` makes a
system of any structured overlay, `hop_by_hop` routes without acknowledgements, and `held_messages` keeps what
a peer sends before it has joined.
"""
