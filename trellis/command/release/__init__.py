"""An installed release of the Helm chart.

`release` is one with its workloads and volume. `helm_chart` finds the chart and `helm` installs it,
`experiment_for_pods` checks what is to run there, and `waiting`, `lookout` and `pod_problems` follow the
pods. `results_client`, `forward` and `relay` reach the pages of a release, and `removal` removes it.
"""
