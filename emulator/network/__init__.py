"""The network between peers: latencies, jitter and loss.

`spec` is the `network:` part of an experiment; `build` makes the `links` of a trial from `king`'s statistics
or from `matrix_files`. `echo` measures round trips, and `netem` has the kernel enforce delays.
"""
