"""The claims of papers, and whether a run bears them out.

`claim` defines what a claim is and how it is judged; each paper has a file; `papers` lists all claims.
"""
