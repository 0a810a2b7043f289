"""The roles of the peers of a trial, by their plan: most are peers, some publish, relay or serve."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.contract.trials import TrialRecord

PEER = "peer"
"""The role of a peer for which the plan gives none."""
DUTIES = ("relay", "server")
"""The roles of peers that handle events which others subscribed to: that is their duty, and no overhead."""

_SCHEMA = pa.schema([("trial", pa.string()), ("peer", pa.int32()), ("role", pa.string())])


def has_duty() -> Column:
    """Return whether the peer of a row, whose `role` is known, handles others' events by duty."""
    return F.col("role").isin(*DUTIES)


def roles(spark: SparkSession, records: Sequence[TrialRecord]) -> DataFrame:
    """Return one row for each peer with a role of its own: trial, peer, role."""
    parts = [_SCHEMA.empty_table()]
    for record in records:
        file = record.directory.plan / "peers.parquet"
        if "role" not in pq.read_schema(file).names:
            continue
        planned = pq.read_table(file, columns=["peer", "role"]).filter(pc.field("role") != PEER)
        trial = pa.array([record.name] * planned.num_rows, pa.string())
        parts.append(pa.table([trial, *planned.columns], schema=_SCHEMA))
    found = pa.concat_tables(parts)
    frame = spark.createDataFrame(found) if found.num_rows else spark.range(0).select(*_nothing())
    return F.broadcast(frame)


def with_role(frame: DataFrame, roles_of_peers: DataFrame) -> DataFrame:
    """Return `frame`, which has trial and peer, with the column `role`."""
    joined = frame.join(roles_of_peers, ["trial", "peer"], "left")
    return joined.withColumn("role", F.coalesce("role", F.lit(PEER)))


def _nothing() -> list[Column]:
    types = {"trial": "string", "peer": "int", "role": "string"}
    return [F.lit(None).cast(kind).alias(name) for name, kind in types.items()]
