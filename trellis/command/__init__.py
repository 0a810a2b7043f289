"""The command `trellis`.

`cli` has the commands, `packages` those for who writes packages. `on_kubernetes`, `on_spark` and `releases`
are those for clusters, with `options` and the folder `release`; `terminal`, `outcome`, `systems_table` and
`exits` are about what is shown.
"""
