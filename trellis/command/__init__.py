"""The command `trellis`.

`cli` has the commands that take an experiment from its file to its report. `compare_command` shows runs
beside each other, `export_command` writes their figures and tables for a paper, `schema_command` prints the
schema of files, and `package_commands` has those about systems and packages. `run_commands`, `run_status` and
`local_runs` are about the run directories of this machine. `on_kubernetes`, `on_spark` and `releases` are
those for clusters, with `pod_options` and the folder `release`. `validate_command` checks an experiment, and
`prospect` says what it would do. `arguments` has what several commands take;
`terminal`, `outcome`, `systems_table`, `as_json` and `exits` show results and errors.
"""
