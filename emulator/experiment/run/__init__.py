"""The run directory, and the verdict over a trial.

`directory` names the files, `runs` makes and opens run directories, `fidelity` is the verdict and says who
makes it, `telemetry_totals` is what writers report of their telemetry, `versions` the code that ran,
`summary_file` writes and reads `summary.json`, and `archive` makes one stream of a run directory.
"""
