"""Charts as geometry, and the results that they are drawn from.

`results` are those of a run, as small files tell them. `chart` and `bars` draw, with `axis` and `numerals`,
and `delivery_tree` is one event's way to its peers.
"""
