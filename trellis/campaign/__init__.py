"""Campaigns: many trials drawn from ranges, and experiments made smaller until nothing can be left out.

Read `drawing` first, which makes one experiment of many draws. `shrinking` has what may be left out of a
trial that is not as expected, and leaves it out as long as the trial stays so; `replay` runs one such trial.
"""
