"""Faults and attackers that an experiment asks for.

Read `spec` first, which holds the keys of the experiment file; `attacks` has the kinds of bad behaviour,
`network_faults` what becomes of messages, and `draw` chooses the peers. The contract of attacks is
`emulator.contract.attack`, by which packages bring further kinds.
"""
