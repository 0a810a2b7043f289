"""Charts as geometry, and the results that they are drawn from.

`results` reads the results of a run from small files. `chart` and `bars` draw, with `axis` and `numerals`,
and `delivery_tree` draws the way of one event to its peers. `values` gives what is drawn as rows.
"""
