"""An experiment on its way from a file to a run directory.

`file` checks the text, `plan` draws from it everything that a trial will do, and `run` keeps the results.
"""
