"""Quasar: publish/subscribe by gradients and directed walks (Wong, Guha, IPTPS 2008).

`system` is one peer, `gradients` is Algorithm 1 with the filters of `bloom`, and `routing` makes the choice
of Algorithm 2.
"""
