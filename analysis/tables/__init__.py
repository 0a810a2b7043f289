"""The tables of a run, from its telemetry and plan.

`build_tables` lists all tables with their columns and writes them; each other file makes some of them.
`parquet` writes the same bytes for the same rows.
"""
