"""Gossip: peers tell each other of the peers that they know.

`newscast` and `cyclon` sample peers at random, `hyparview` keeps a small symmetric view;
`newscast_membership` is the first of them as a part of systems. `tman` finds the peers that a ranking
prefers, `sightings` are what a peer has heard of others, and `profiles` what peers tell of themselves. The
peers of a host keep their state together: `profile_handles` has the profiles that any of them knows, `views`
their Newscast views, and `exchanges` the messages of Newscast and T-Man.
"""
