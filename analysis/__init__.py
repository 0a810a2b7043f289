"""The analysis by Spark: telemetry and plan to tables, measures, claims and a report.

`pipeline` goes through the steps, and `summary` writes `summary.json`. `engine` starts Spark, `contract`
says what a measure, a table and a figure are, also those of packages. `otlp` reads telemetry; `tables`,
`measures`, `claims` and `report` are the steps in their order, `charts` draws, and `workloads` has how each
kind of workload is judged and shown. `testing` is for the tests of packages.
"""
