"""GossipSub v1.0, v1.1 and v1.2, libp2p's publish/subscribe by topics.

`system` is one peer: what it does with a message. `connections` has the peers that it is connected to, `mesh`
those of them that it sends whole messages to, `gossip` what it tells all others, from `message_cache`;
`scores` says how well each peer behaves. Read `system` first.
"""
