"""The virtual runtime: all peers of a trial in one process, on a virtual clock.

`run_virtual` runs a trial. `event_loop` has the clock, the links and the event loop, `life` is one peer while
it is up, `event_queue` holds the pending events, and `sent_pools` knows the pools of the rows among them.
"""
