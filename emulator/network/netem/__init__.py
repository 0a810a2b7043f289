"""Delays that the kernel enforces, in a network namespace of this process.

`shaper` keeps the rules of one interface, `rules` says which they are, `messages` encodes them, and `netlink`
sends them to the kernel.
"""
