"""How each kind of workload that is Trellis' own is judged and shown: one file a kind.

They go through the doors of `analysis.contract`, as the kinds of packages do. Nothing else of the analysis
knows topics, content or lookups by name. Read `lookups` first.
"""
