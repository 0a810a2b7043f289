"""What goes wrong in a trial because the experiment asks for it.

Read `spec` first, which holds the keys of the experiment file; `attacks` has the kinds of bad behaviour, and
`draw_attackers` chooses who behaves so. The contract of attacks is `emulator.contract.attack`, by which
packages bring further kinds.
"""
