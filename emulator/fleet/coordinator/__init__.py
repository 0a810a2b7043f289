"""The coordinator of a real-time trial.

`coordinator` keeps what is known of the hosts, without any network; `service` answers their calls,
`conductor` takes a trial from the first host to the last report, `planned_kills` names the sessions that
end with their pods, and `fidelity_checks` sums up what hosts measured, `fault_reports` what they told of
faults. `authorization` and `host_tokens` decide who may call, `journal` lets a restarted coordinator take
up the trial, `live_metrics` with `live_reading` show a trial while it runs, and `hold_ups` says what holds
it up.
"""
