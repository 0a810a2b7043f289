"""The hosts of a real-time trial and who conducts them.

`coordinator` knows and conducts all hosts, `host` is the program of one, `pods` are hosts in Kubernetes,
and `processes` are hosts on this machine.
"""
