"""Campaigns: many trials drawn from ranges, and experiments made smaller as long as they fail.

Read `drawing` first, which makes one experiment of many draws. `shrinking` makes a trial that is not as
expected smaller, as long as it stays so; `cuts` has what may be left out, and `replay` runs one such trial.
"""
