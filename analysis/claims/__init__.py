"""The claims of papers, and whether a run bears them out.

`claim` defines what a claim is and judges it, with the `bounds` of its numbers. Each paper has a file, and
`papers` lists all claims. `paper_setting` tells where a run's setting differs from the paper's.
"""
