"""The virtual runtime: all peers of a trial in one process, on a virtual clock.

`run_virtual` runs a trial. `event_loop` has the peers and the loop, `linked_world` what the network does to
messages beside the delay of their pair, `life` is one peer while it is up, `skewed_life` one whose own clock
is wrong, `event_queue` holds the pending events, `paused_peers` keeps those of paused peers back, and
`sent_pools` knows the pools of the rows among them.
"""
