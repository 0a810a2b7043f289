"""Which Spark an analysis starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from analysis_golden import golden_run
from pyspark.sql import SparkSession

from analysis import pipeline
from analysis.measures.measure_run import Measured


@pytest.mark.parametrize("much", [False, True])
def test_java_optimizes_for_much_telemetry_only(
    much: bool, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    @contextmanager
    def session(*, optimize: bool) -> Iterator[SparkSession]:
        asked.append(optimize)
        yield spark

    monkeypatch.setattr(pipeline, "spark_session", session)
    monkeypatch.setattr(pipeline, "_measure", lambda *_: (Measured({}, {}), {}, {}))
    run = golden_run(tmp_path / "run")
    size = sum(path.stat().st_size for path in run.path.glob("trials/*/telemetry/*-traces-*.otlp"))
    monkeypatch.setattr(pipeline, "_MUCH_TELEMETRY", size - 1 if much else size)
    pipeline.analyze(run, lambda _: None)
    assert asked == [much]
