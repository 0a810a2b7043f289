"""The roles of the peers of a trial and its attackers, as the plan has them.

Most peers are plain ones; some publish, relay or serve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.contract.trials import TrialRecord
from analysis.engine.one_partition import few

PEER = "peer"
"""The role of a peer for which the plan gives none."""
DUTIES = ("relay", "server")
"""The roles of peers that handle events which others subscribed to: that is their duty, and no overhead."""

_KEY = [("trial", pa.string()), ("peer", pa.int32())]
_SCHEMAS = {
    "role": pa.schema([*_KEY, ("role", pa.string())]),
    "attacker": pa.schema([*_KEY, ("attacker", pa.bool_())]),
}
_AIMS = pa.schema([("trial", pa.string()), ("target", pa.int32())])


def has_duty() -> Column:
    """Return whether the peer of a row, whose `role` is known, handles others' events by duty."""
    return F.col("role").isin(*DUTIES)


def roles(spark: SparkSession, records: Sequence[TrialRecord]) -> DataFrame:
    """Return one row for each peer with a role of its own: trial, peer, role."""
    return _planned(spark, records, "role", pc.field("role") != PEER)


def attackers(spark: SparkSession, records: Sequence[TrialRecord]) -> DataFrame:
    """Return one row for each peer that behaves badly: trial, peer, attacker (true), target? (the peer that
    its behaviour is aimed at)."""
    asked = [record for record in records if record.spec.attackers is not None]
    aims = [{"trial": record.name, "target": _target(record)} for record in asked]
    aimed = pa.Table.from_pylist(aims, _AIMS)
    planned = _planned(spark, asked, "attacker", pc.field("attacker"))
    return few(planned.join(spark.createDataFrame(aimed), "trial"))


def _target(record: TrialRecord) -> int | None:
    """Return the peer that the behaviour of a trial's attackers names as its target, if it names one."""
    attackers = record.spec.attackers
    return None if attackers is None else getattr(attackers.behaviour, "target", None)


def _planned(
    spark: SparkSession, records: Sequence[TrialRecord], column: str, chosen: pc.Expression
) -> DataFrame:
    """Return the peers of the plans that `chosen` holds for: trial, peer and this column, which plans of
    earlier versions lack."""
    schema = _SCHEMAS[column]
    parts = [schema.empty_table()]
    for record in records:
        file = record.directory.plan / "peers.parquet"
        if column not in pq.read_schema(file).names:
            continue
        planned = pq.read_table(file, columns=["peer", column]).filter(chosen)
        trial = pa.array([record.name] * planned.num_rows, pa.string())
        parts.append(pa.table([trial, *planned.columns], schema=schema))
    found = pa.concat_tables(parts)
    if found.num_rows:
        return few(spark.createDataFrame(found))
    return few(spark.createDataFrame([], from_arrow_schema(schema)))


def without_attackers(frame: DataFrame, tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of `frame`, which has trial and peer, whose peer behaves well."""
    if "attackers" not in tables:
        return frame
    return frame.join(tables["attackers"].select("trial", "peer"), ["trial", "peer"], "left_anti")


def with_role(frame: DataFrame, roles_of_peers: DataFrame) -> DataFrame:
    """Return `frame`, which has trial and peer, with the column `role`."""
    joined = frame.join(roles_of_peers, ["trial", "peer"], "left")
    return joined.withColumn("role", F.coalesce("role", F.lit(PEER)))
