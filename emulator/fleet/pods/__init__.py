"""Hosts that are pods of Kubernetes.

`pod_fleet` runs all trials of a release. `churn_controller` ends sessions by deleting pods when
`kill_schedule` says so, `pod_watch` follows the pods, and `own_image` tells which image this pod runs.
"""
