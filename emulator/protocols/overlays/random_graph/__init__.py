"""A random graph: an unstructured membership by gossip.

`membership` is one peer, and `parameters` has what can be chosen.
"""
