"""The command `trellis`.

`cli` has the commands, and `package_commands` those about systems and packages. `on_kubernetes`, `on_spark`
and `releases` are those for clusters, with `pod_options` and the folder `release`; `terminal`, `outcome`,
`systems_table` and `exits` show results and errors.
"""
