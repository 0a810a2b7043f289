"""Delays and rates that the kernel enforces, in a network namespace of this process.

`shaper` keeps the rules of one interface, `rules` says which they are, `messages` encodes them, and `netlink`
sends them to the kernel. `links` makes the devices that limit rates, with `link_messages`. `refusals` has the
reasons why the kernel refuses something.
"""
