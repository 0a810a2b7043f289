"""Filter-based routing: Siena's acyclic peer-to-peer servers (Carzaniga, Rosenblum, Wolf, TOCS 2001).

`system` is one server, which routes by `emulator.protocols.pubsub.content`; `parameters` has what can be
chosen.
"""
