"""The programs that hosts and pods run: thin mains over the rooms below.

`command` is the program `trellis`. `coordinator`, `peer`, `churn`, `results`, `telemetry_gate`, `analysis`,
`spark_driver`, `executor` and `reach` run in the pods of a release; `peer` is also the program of a local
host. `self_telling` has them tell operators what they do, and `endings` how they end.
"""
