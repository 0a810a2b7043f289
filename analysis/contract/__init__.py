"""The doors of the analysis: what a measure, a table, a figure, a section, and the analysis of a kind of
workload are.

Trellis' own come through them as those of packages do. Read `workload_analysis` first: it names the others.
`workload_kinds` finds the analysis of each kind of workload, `packages` what installed packages bring by
entry points, and `trouble` is how it is told if some of that cannot be had.
"""
