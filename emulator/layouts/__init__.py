"""Layouts: what operators of servers set up before a trial, from the plan and the peers' round trips.

`layout` calls the layout that a system names: `cliques`, `groups`, `kyra` or `trees`. `event_points` reads
the plan's events for these.
"""
