"""The command `trellis`.

`cli` has the commands. `on_kubernetes`, `on_spark` and `releases` are those for clusters, with `options` and
the folder `release`; `terminal`, `outcome`, `systems_table` and `exits` show results and errors.
"""
