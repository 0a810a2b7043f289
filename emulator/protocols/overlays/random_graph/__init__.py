"""A random graph: an unstructured membership by gossip.

`membership` is one peer, and `parameters` what can be chosen.
"""
