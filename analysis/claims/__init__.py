"""What papers claim, and whether a run bears it out.

`claim` is what a claim is and how it is judged; each paper has a file; `papers` lists all claims.
"""
