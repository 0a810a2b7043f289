"""The contract between a protocol and the world that runs it, and what a package may bring.

Read `protocol` first: a protocol asks the world through its `Environment` and is driven by calls.
`interests`, `outcomes`, `gauges`, `message_pool` and `held_messages` belong to it. `identifiers` has the
spaces of structured overlays, `system` describes a system, an overlay or a membership, `workload` a kind of
workload. `registry` lists those that can be run, `packages` and `package_models` find what installed
packages add, `package_versions` records which of them ran, `random_streams` is the source of all randomness,
`draws` draws from it quickly, and `recent` has sets that forget. `mistakes` tells of errors in the code of
packages. `invariants` are conditions on the states of all peers, and `dead_entries` serves those about
views.
"""
