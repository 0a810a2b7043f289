"""The analysis by Spark: from telemetry and plan to tables, measures, claims and a report.

`pipeline` runs the steps, and `summary` writes `summary.json`. `engine` starts Spark, `contract` defines what
a measure, a table and a figure are, also for packages. `otlp` reads telemetry; `tables`, `measures`, `claims`
and `report` are the steps in their order, `charts` draws, and `workloads` says how each kind of workload is
judged and shown. `testing` is for the tests of packages.
"""
