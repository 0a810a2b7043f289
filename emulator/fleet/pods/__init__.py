"""Hosts that are pods of Kubernetes.

`pod_fleet` runs all trials of a release. `churn_controller` ends sessions by deleting pods when
`kill_schedule` says so, `kubernetes_api` follows the pods and deletes them, and `own_image` tells which
image this pod runs.
"""
