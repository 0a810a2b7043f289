"""Gossip: peers tell each other of the peers that they know.

`newscast` samples peers at random, `tman` finds the peers that a ranking prefers, `sightings` are what a
peer has heard of others, and `profiles` what peers tell of themselves.
"""
