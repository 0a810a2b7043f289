"""The files that tasks write themselves are whole, and lie where Spark would have put them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.otlp.source import PartRows
from analysis.tables import telemetry_tables
from analysis.tables.table_files import PassingFiles, TableFiles, unfinished
from analysis.tables.telemetry_tables import _SCHEMAS, _Writer

NAMES = ("vitis-1", "chord.seed=7-7", "a b,c;d", "x/y:z*?", "50 %{[]}^#\"'\\", "\u00fc\x07\x7f")


def test_the_folder_of_a_trial_has_the_name_that_spark_gives_it(spark: SparkSession, tmp_path: Path) -> None:
    files = TableFiles(tmp_path)
    for name in NAMES:
        frame = spark.createDataFrame([(name, 1)], "trial string, peer int")
        files.write(frame, "states", "peer")
        (folder,) = (tmp_path / "states").iterdir()
        assert files.part("states", name, 0, 0) == folder / "part-00000.parquet"
        assert [row.trial for row in files.read(spark, "states", frame.schema).collect()] == [name]


def hops(trial: str, *peers: int) -> pa.Table:
    schema = _SCHEMAS["hops"]
    return pa.Table.from_pylist([{"trial": trial, "peer": peer} for peer in peers], schema=schema)


def part(trial: str, number: int) -> PartRows:
    return PartRows(trial, "traces", number, iter(()))


def peers(files: TableFiles, spark: SparkSession) -> list[tuple[str, int]]:
    rows = files.read(spark, "hops", from_arrow_schema(_SCHEMAS["hops"])).collect()
    return sorted((row.trial, row.peer) for row in rows)


@pytest.mark.parametrize(("kind", "count"), [(TableFiles, 3), (PassingFiles, 1)])
def test_tables_that_are_kept_have_a_file_a_part_and_others_a_file_a_task(
    spark: SparkSession, tmp_path: Path, kind: Any, count: int
) -> None:
    files = kind(tmp_path)
    files.prepare("hops")
    with _Writer(files, 7) as writer:
        for trial, number, peer in (("a", 0, 1), ("a", 0, 2), ("a", 1, 3), ("b", 0, 4)):
            writer.write("hops", part(trial, number), hops(trial, peer))
    assert len(list((tmp_path / "hops").rglob("*.parquet"))) == count
    assert peers(files, spark) == [("a", 1), ("a", 2), ("a", 3), ("b", 4)]


def test_a_task_that_fails_leaves_nothing_and_may_run_again(spark: SparkSession, tmp_path: Path) -> None:
    files = TableFiles(tmp_path)
    files.prepare("hops")
    with pytest.raises(OSError, match="disk full"), _Writer(files, 0) as writer:
        writer.write("hops", part("a", 0), hops("a", 1, 2))
        raise OSError("disk full")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    with _Writer(files, 0) as writer:
        writer.write("hops", part("a", 0), hops("a", 1))
    assert peers(files, spark) == [("a", 1)]


def test_what_a_killed_task_left_is_not_read_and_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    files = TableFiles(tmp_path)
    files.prepare("hops")
    with _Writer(files, 0) as writer:
        writer.write("hops", part("a", 0), hops("a", 1))
    left = unfinished(files.part("hops", "a", 0, 0))
    left.write_bytes(b"PAR1")
    assert peers(files, spark) == [("a", 1)]
    files.remove_unfinished("hops")
    assert not left.exists()


def test_rows_are_gathered_into_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry_tables, "_GROUP_ROWS", 4)
    files = TableFiles(tmp_path)
    with _Writer(files, 0) as writer:
        for peer in range(0, 10, 2):
            writer.write("hops", part("a", 0), hops("a", peer, peer + 1))
    file = pq.ParquetFile(files.part("hops", "a", 0, 0))
    groups = range(file.num_row_groups)
    assert [file.metadata.row_group(group).num_rows for group in groups] == [4, 4, 2]
