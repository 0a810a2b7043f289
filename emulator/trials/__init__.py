"""Trials, one and many.

`trial` takes one trial from its spec to its verdict, `worker` is the process of one, `sweep` runs all trials
of an experiment, and `run_progress` tells how far a run is.
"""
