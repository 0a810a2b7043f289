"""Tables of the plans of trials as data frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.contract.trials import TrialRecord
from analysis.engine.literal_reader import literal_reader
from analysis.engine.one_partition import gathered
from emulator.experiment.plan.tables import KEPT, PEERS, REGION, SESSIONS
from emulator.workload.table_schemas import GETS, LOOKUPS, PUBLICATIONS, PUTS, RETICENT, SUBSCRIPTIONS


def _with_key(schema: pa.Schema) -> pa.Schema:
    """Return the schema with keys of any length, as Spark reads them."""
    return schema.set(schema.get_field_index("key"), pa.field("key", pa.binary()))


_SCHEMAS = {
    "gets": _with_key(GETS),
    "lookups": _with_key(LOOKUPS),
    "peers": PEERS.append(REGION),
    "publications": PUBLICATIONS,
    "puts": _with_key(PUTS),
    "reticent": RETICENT,
    "sessions": SESSIONS.append(KEPT),
    "subscriptions": SUBSCRIPTIONS,
}
"""The schemas of Trellis' own tables, given to Spark so that it need not find them out."""
_TRIAL = pa.field("trial", pa.string())


def read_plan(spark: SparkSession, records: list[TrialRecord], table: str) -> DataFrame:
    """Return one table of the plans of these trials, with a column `trial`.

    Spark finds out the schema of a table of a package's kind of workload, which takes a job.
    """
    paths = [str((r.directory.plan / f"{table}.parquet").resolve()) for r in records]
    # Spark finds the trial of every row again, so whatever takes long is done only for names that need it.
    folder = F.substring_index(F.substring_index("_metadata.file_path", "/", -3), "/", 1)
    decoded = F.url_decode(F.replace(folder, F.lit("+"), F.lit("%2B")))
    trial = F.when(folder.contains("%"), decoded).otherwise(folder)
    reader = literal_reader(spark)
    if table in _SCHEMAS:
        reader = reader.schema(from_arrow_schema(_SCHEMAS[table]))
    return gathered(reader.parquet(*paths).select(trial.alias("trial"), "*"))


def can_unite(table: str) -> bool:
    """Return whether the tables of several plans can be put into one file: their columns are known."""
    return table in _SCHEMAS


def unite_plans(records: Sequence[TrialRecord], table: str, file: Path) -> None:
    """Write one table of the plans of these trials into a file, with a column `trial`.

    Spark takes some milliseconds to open a file, and the tables of a small trial are as many as its rows are
    few.
    """
    schema = _SCHEMAS[table]
    parts = [pa.schema([_TRIAL, *schema]).empty_table()]
    for record in records:
        planned = pq.read_table(record.directory.plan / f"{table}.parquet", partitioning=None)
        trial = pa.array([record.name] * len(planned), pa.string())
        columns = [
            planned[field.name].cast(field.type)
            if field.name in planned.column_names
            else pa.nulls(len(planned), field.type)
            for field in schema
        ]
        parts.append(pa.table([trial, *columns], schema=parts[0].schema))
    pq.write_table(pa.concat_tables(parts), file, compression="zstd", store_schema=False)


def read_united(spark: SparkSession, table: str, file: Path) -> DataFrame:
    """Return the table that `unite_plans` wrote."""
    schema = from_arrow_schema(pa.schema([_TRIAL, *_SCHEMAS[table]]))
    return gathered(literal_reader(spark).schema(schema).parquet(str(file)))
