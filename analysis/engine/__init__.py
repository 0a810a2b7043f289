"""Spark and its Java, on this machine and in a cluster.

`session` makes a session, `jvm` and `java` start Java, `class_archive` makes that faster, `executors` and
`cluster` have pods work for it, `progress` tells how far it is, and `failures` words errors.
"""
