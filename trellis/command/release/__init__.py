"""An installed release of the Helm chart.

`release` is one with its workloads and volume; `helm` and `chart` install it, `waiting`, `lookout` and
`problems` follow its pods, `results`, `forward` and `relay` reach its pages, and `removal` removes it.
"""
