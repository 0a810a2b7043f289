"""The log configuration of Spark's processes."""

from __future__ import annotations

from analysis.engine.java import LOG


def test_the_gateway_has_a_level_of_its_own_and_so_says_nothing_of_levels() -> None:
    settings = dict(line.split(" = ", 1) for line in LOG.splitlines())
    assert settings["logger.gateway.name"] == "org.apache.spark.api.python.PythonGatewayServer"
    assert settings["logger.gateway.level"] == settings["rootLogger.level"] == "fatal"
