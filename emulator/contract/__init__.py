"""The contract between a protocol and the world that runs it, and what a package may bring.

Read `protocol` first: a protocol asks the world through its `Environment` and is driven by calls.
`identifiers` has the spaces of structured overlays, `system` what a system, an overlay or a membership
tells of itself, `workload` what a kind of workload does, `registry` the ones that can be run, `packages`
how installed packages add theirs, and `random_streams` where all randomness comes from.
"""
