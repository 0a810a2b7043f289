"""Faults and attackers that an experiment asks for.

Read `spec` first, which holds the keys of the experiment file, with `groups` for the peers that are named
and `kinds` for what faults do; `attacks` has the kinds of bad behaviour, `network_faults` what becomes of
messages, `own_clocks` what wrong clocks show, `outages` when the bootstrap service is away, and `draw`
chooses the peers. The contract of attacks is `emulator.contract.attack`, by which packages bring further
kinds.
"""
