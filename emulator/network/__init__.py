"""The network between peers: latencies, jitter and loss.

`spec` is the `network:` part of an experiment; `build` makes the `links` of a trial from latencies that
`king_like` draws or `matrix_files` reads. `echo` measures round trips, and `netem` has the kernel enforce
delays.
"""
