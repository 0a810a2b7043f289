"""The analysis by Spark: telemetry and plan to tables, measures, claims and a report.

`pipeline` goes through the steps, and `summary` writes `summary.json`. `engine` starts Spark, `otlp` reads
telemetry, `tables`, `measures`, `claims` and `report` are the steps in their order.
"""
