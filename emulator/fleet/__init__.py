"""The hosts of a real-time trial and the coordinator that conducts them.

`coordinator` keeps the state of all hosts and conducts the trial, `host` is the program of one host, `pods`
runs hosts in Kubernetes, and `processes` runs hosts on this machine.
"""
