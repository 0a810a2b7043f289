"""The run directory, and what a trial has to keep to be valid.

`directory` names the files, `runs` makes and opens run directories, `fidelity` holds the rules of validity,
`telemetry_totals` what writers tell of their telemetry, `versions` the code that ran, and `archive` makes
one stream of a run directory.
"""
