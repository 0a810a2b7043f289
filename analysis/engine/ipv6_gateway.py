"""How pyspark reaches its JVM and workers on a machine that has the loopback address of IPv6 alone.

Spark's JVM and Python workers need a setting each (SPARK-39457). pyspark's accumulators have IPv4 written
into them, so they go by Unix sockets. The server of py4j that has a thread of Java for each thread of Python
binds 127.0.0.1 whatever address it is given; so Spark takes its other server, and pyspark is told that
server's address.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from emulator.network.loopback import is_six, loopback

JAVA_OPTIONS = ("-Djava.net.preferIPv6Addresses=true",)
ENVIRONMENT = {"SPARK_PREFER_IPV6": "true", "PYSPARK_PIN_THREAD": "false"}
"""Variables for the JVM, for pyspark in this process and for its workers."""
SETTINGS = {"spark.python.unix.domain.socket.enabled": "true"}


@contextmanager
def gateway_by_ipv6() -> Iterator[None]:
    """Have pyspark look for its JVM at ::1 inside the `with` statement, where there is IPv6 alone."""
    if not is_six():
        yield
        return
    java_gateway: Any = import_module("pyspark.java_gateway")
    kept = java_gateway.GatewayParameters
    java_gateway.GatewayParameters = partial(kept, address=loopback())
    try:
        yield
    finally:
        java_gateway.GatewayParameters = kept
