"""Scribe: a multicast tree for each topic over any structured overlay (Castro et al., JSAC 2002).

`scribe` is one peer, `trees` its part in the trees with the help of `joins` and `link`, and `groups` is what
a root knows of its group.
"""
