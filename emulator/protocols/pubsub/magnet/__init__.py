"""Magnet: subscribers with similar interests stand next to each other on a ring.

Read `magnet` first, which is one peer. `placement` is Algorithm 1, and `settling` takes the place that it
finds; `trees` is Algorithm 2, with the `intervals` of greedy paths. `branches` are the peer's places in all
trees, each a `branch`, over the `link` to each neighbour. `upkeep` mends trees, `kept_events` fill the gaps
of that time, and `membership` samples the interests of subscribers (section 3.4).
"""
