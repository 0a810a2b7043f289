"""The network between peers: latencies, jitter and loss.

`spec` is the `network:` part of an experiment; `bandwidth_spec`, `jitters` and `burst_loss` are parts of
it. `build_network` makes the `peer_network` of a trial from latencies that `king_like` draws,
`matrix_files` reads, or `regions` has, with `cloud_tables`. `access_links` and `shared_links` hold the
queues of peers whose bandwidth is limited, and `pair_order` keeps messages of a pair in order. `loopback`
is this machine's own address, and `listening` reads addresses to listen on. `http_server` bounds what
clients of an HTTP server may take, `echo` measures round trips, and `netem` has the kernel enforce delays and
rates.
"""
