"""W. Li's content-based publish/subscribe: a distributed 2d-tree over a structured overlay (UBC, 2008).

Read `space` first, which is the 2d-tree of the event space, and then `system`, which is one peer. `tree` has
the peer's tree nodes, each a `node` with a `leaf_table`; `placement` and `copies` decide which peers hold a
node. `subscriber` installs the `pieces` of a subscription, `publication` finds the leaves of an event's
`content` by `probing`, `delivery` brings the event to subscribers, and `direct_messages` go between parts of
peers.
"""
