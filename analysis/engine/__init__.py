"""Spark and its Java, on this machine and in a cluster.

`readiness` tells whether Spark can start here. `spark_session` makes a session, `jvm` and `java` start Java,
`class_archive` makes that faster, and `ipv6_gateway` does without IPv4. `executors` and `cluster_session`
have pods work for a session, `stages` tells how far the analysis is, `literal_reader` reads files,
`one_partition` keeps small frames together, and `failures` words errors.
"""
