"""The coordinator of a real-time trial.

`coordinator` keeps what is known of the hosts, without any network; `service` answers their calls,
`conductor` takes a trial from the first host to the last report, and `fidelity_checks` holds what hosts
measured against the limits. `authorization` and `host_tokens` say who may call, `journal` lets a new
coordinator go on, and `live_metrics` with `live_reading` show a trial while it runs.
"""
