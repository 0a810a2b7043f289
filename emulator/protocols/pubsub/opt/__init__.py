"""OPT, the second baseline of Vitis: an overlay of each topic by SpiderCast's coverage.

`system` is one peer, `links` its neighbours, which `candidates` chooses by `coverage` among the peers of
`knowledge`; `directory` is the full knowledge that the paper grants it.
"""
