"""The run directory, and the conditions under which a trial is valid.

`directory` names the files, `runs` makes and opens run directories, `fidelity` holds the rules of validity,
`telemetry_totals` is what writers report of their telemetry, `versions` the code that ran, `summary_file`
writes and reads `summary.json`, and `archive` makes one stream of a run directory.
"""
