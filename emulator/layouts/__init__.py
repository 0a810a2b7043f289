"""What operators of servers set up before a trial, from the plan and the round trips of the peers.

`layout` calls the layout that a system names: `cliques`, `groups`, `kyra` or `trees`. `events` reads the
plan's events for these.
"""
