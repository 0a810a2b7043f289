"""HyParView: a membership with a small symmetric view and a larger one to repair it from.

`membership` is one peer: joins, the active view and its repair. `passive_view` is the larger view, and
`parameters` has what can be chosen.
"""
