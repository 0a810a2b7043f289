"""Quasar: publish/subscribe by gradients and directed walks (Wong, Guha, IPTPS 2008).

`system` is one peer, `gradients` Algorithm 1 with the filters of `bloom`, and `routing` the choice of
Algorithm 2.
"""
