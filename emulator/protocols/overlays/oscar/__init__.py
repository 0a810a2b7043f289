"""OSCAR: a small world over identifiers that may be as dense as the peers choose.

Read `overlay` first, which is one peer, and `member`, by which its parts see it. `joining`, `confirming` and
`stabilising` keep the `ring`. `sampling` finds the medians that bound the `partitions`, from which `wiring`
has `links` drawn. `routes` finds the next hop, and `rerouting` another one where that is dead.
"""
