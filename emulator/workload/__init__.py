"""Workloads, which say what peers are asked to do: interests, publications and lookups.

`spec` is the `workload:` part of an experiment and `subscription_sources` has the bases of all kinds of
subscriptions. Topics are drawn by `patterns`, `social`, `followers` and `correlated`, interests in content by
`ranges` and `draw_boxes`; `publications`, `arrivals` and `lookups` say when something is asked.
"""
