"""The report of a run: one self-contained HTML page.

`report` puts the page together from `figures_by_variant`, `setting` and what `shown` chooses. `page` renders
its templates, and `compare` sets two runs side by side.
"""
