"""Kyra: server cliques and partitioned routing trees (Cao, Singh, INFOCOM 2004).

Read `system` first, which is one server. `rates` collects where events fall, by which `drawing` cuts the
zones of an `epoch`. `epoch_state` is one epoch at this server: `zone_assignment` gives it its pieces,
`tree_membership` and `growth` its trees, and `movement` takes its subscriptions to each `proxy`. `spreading`
brings events from there to the servers that want them, `delayed_release` keeps what others may still rely on,
and `server_context` is what all epochs share.
"""
