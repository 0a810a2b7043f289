"""Multicast groups by clustering event cells (Riabov et al., ICDCS 2002): a static baseline.

`system` is one server, and `parameters` has what can be chosen.
"""
