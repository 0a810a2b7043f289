"""The contract between a protocol and the world that runs it, and what a package may bring.

Read `protocol` first: a protocol asks the world through its `Environment` and is driven by calls.
`interests`, `outcomes` and `gauges` belong to it. `identifiers` has the spaces of structured overlays,
`system` what a system, an overlay or a membership tells of itself, `workload` what a kind of workload does,
`registry` the ones that can be run, `packages` and `package_models` how installed packages add theirs,
`package_versions` which of them ran, and `random_streams` where all randomness comes from.
"""
