"""Stores of values by key.

`replicated` is a store over any structured overlay, as DHash over Chord and PAST over Pastry: the peers that
are the closest to a key hold copies. Read it first; `holders` says who these are, and `repair` how copies
come to them when peers come and go. `kademlia_store` is Kademlia's own way (STORE and FIND_VALUE), and
`republishing` how values stay there. `copies` holds the copies of a peer.
"""
