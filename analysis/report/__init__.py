"""The report of a run: one self-contained HTML page.

`report` puts the page together from `results`, `figures` and `delivery_tree`; `chart`, `bars` and `axis`
draw; `compare` sets two runs side by side.
"""
