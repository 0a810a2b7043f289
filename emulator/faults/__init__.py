"""Faults and attackers that an experiment asks for.

Read `spec` first, which holds the keys of the experiment file. `groups` says which peers are named, and
`kinds` has the kinds of faults. `network_faults` decides the fate of messages, and `crossings` judges those
that cross a partition. `own_clocks` has the clocks that are wrong, `outages` the times at which the bootstrap
service is away. `attacks` has the kinds of bad behaviour, with `mesh_attacks` for GossipSub, and `identities`
says as which peers, and next to whom, attackers stand. `draw` chooses the peers. The contract of attacks is
`emulator.contract.attack`, by which packages bring further kinds.
"""
