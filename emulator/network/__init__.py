"""The network between peers: latencies, bandwidth, jitter and loss.

Read `spec` first, which is the `network:` part of an experiment. `model` has the base classes of latency,
jitter and loss. `latencies`, `jitters`, `burst_loss` and `placed_loss` have Trellis' own models, and
`bandwidth_spec` and `processing_spec` are the parts of a file for links and for the time of peers.

`build_network` makes the `peer_network` of a trial, and `round_trips` its matrix, which `statistics`
describes. `king_like` draws latencies, and `regions` has named ones, with `cloud_tables`. `matrix_files`
reads measured ones: `matrix_text`, `pairs_text`, `topology_text` and `graph_text` each read one form.

`peer_classes` names classes of peers, `link_table` reads classes of links from a table, and `node_rates` from
the nodes of a graph. `access_links` holds links that are queues. `shared_links` has links that are fair or
change by a `rate_change`, and `fair_links` has fair ones of constant rates. `link_use` counts what links
carried. `pair_order` keeps the messages of a pair in order, and `busy_peers` handle one message after the
other.

`loopback` is this machine's own address, and `listening` reads addresses to listen on. `http_server` bounds
what clients of an HTTP server may take, and `metrics_server` answers Prometheus with it. `echo` measures
round trips, and `netem` has the kernel enforce delays and rates.
"""
