"""The runtimes, which drive the peers of a trial.

`script` lists what peers have to do, made of the plan by `plan_script`; `script_actor` has peers do it in
every runtime, and `fault_actor` has faults happen to them; `peer_channels` is a peer with its channels and
handlers in every runtime, with the requests of `pending_requests`, and `tracker` is the bootstrap service.
`virtual` runs all peers on a virtual clock, `realtime` those of one host.
"""
