"""Spark and its Java, on this machine and in a cluster.

`spark_session` makes a session, `jvm` and `java` start Java, and `class_archive` makes that faster.
`executors` and `cluster_session` have pods work for a session, `stages` tells how far the analysis is,
`literal_reader` reads files, `one_partition` keeps small frames together, and `failures` words errors.
"""
