"""Figures and tables of a finished run as files for a paper.

`figures` and `tables` list what a run has, and `write` writes it with an index. Each kind of chart is drawn
in one place: `lines`, `bars`, `panels`, `heat`, `graph` and `tree`, which `draw` chooses from, in the one
`style`. `latex` writes tables, `pgfplots` writes figures for LaTeX. No other room imports matplotlib.
"""
