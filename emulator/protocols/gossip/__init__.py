"""Gossip: peers tell each other of the peers that they know.

`newscast` samples peers at random, `tman` finds the peers that a ranking prefers, `sightings` are what a
peer has heard of others, and `profiles` what peers tell of themselves. The peers of a host keep their state
together: `profile_handles` has the profiles that any of them knows, `views` their Newscast views, and
`exchanges` the messages of both protocols.
"""
