"""The interfaces of the analysis: measures, tables, figures, sections, and the analysis of a kind of
workload.

Trellis' own use them as those of packages do. Read `workload_analysis` first: it names the others.
`workload_kinds` finds the analysis of each kind of workload, `packages` finds what installed packages bring
by entry points, and `trouble` reports what of that cannot be used.
"""
