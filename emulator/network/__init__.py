"""The network between peers: latencies, jitter and loss.

`spec` is the `network:` part of an experiment, and `bandwidth_spec` its part on bandwidth. `build_network`
makes the `peer_network` of a trial from latencies that `king_like` draws or `matrix_files` reads, and
`access_links` holds the queues of peers whose bandwidth is limited. `loopback` is this machine's own address,
`echo` measures round trips, and `netem` has the kernel enforce delays.
"""
