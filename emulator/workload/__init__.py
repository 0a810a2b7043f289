"""What peers are asked to do: interests, publications and lookups.

`spec` is the `workload:` part of an experiment and `source` the base of all kinds of subscriptions. Topics
are drawn by `patterns`, `social`, `followers` and `correlated`, interests in content by `ranges` and
`boxes`; `publications`, `arrivals` and `lookups` say when something is asked.
"""
