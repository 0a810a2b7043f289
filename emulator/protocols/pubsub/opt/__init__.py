"""OPT, the second baseline of Vitis: an overlay of each topic by SpiderCast's coverage.

`system` is one peer and `links` its neighbours, which `candidates` chooses by `coverage` among the peers of
`knowledge`; `directory` gives a peer the full knowledge that the paper grants it.
"""
