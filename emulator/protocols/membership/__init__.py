"""Memberships whose members know who of them is up: SWIM, Lifeguard, and memberlist's parameters.

Read `swim` first: it holds one member, and what it does with what it hears. `probing` asks members whether
they are there, `suspicion` gives those that are silent time to speak, `dissemination` has updates ride on
messages, and `view` keeps the list of members, each with a word of `words`. `state_sync` exchanges whole
lists, and `health` is Lifeguard's measure of a member's own health.
"""
