"""Hosts that are pods of Kubernetes.

`pod_fleet` runs all trials of a release. `churn_controller` ends sessions by deleting pods when
`kill_schedule` says so, and `kubernetes_api` follows the pods and deletes them. `own_image` tells which
image this pod runs, and `pod_endings` why hosts were lost or came back; both ask by `pod_reading`.
`pod_names` has the names of the pods of hosts. Of a queue of releases, `queue_order` says whose turn it is,
`admission` starts and pauses the pods of a release, `queue_leases` is the queue as Leases, and `trial_pauses`
is what a coordinator asks before each trial.
"""
