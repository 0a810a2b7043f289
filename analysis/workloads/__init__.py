"""The analysis of each kind of workload that is Trellis' own: how it is judged and shown; one file a kind.

These kinds use the interfaces of `analysis.contract`, as the kinds of packages do. Nothing else of the
analysis knows topics, content or lookups by name. Read `lookups` first.
"""
