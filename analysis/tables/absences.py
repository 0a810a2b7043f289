"""Absences: the times when peers were not up as planned, because their hosts had died.

What such a peer should have received in that time counts neither as missed nor as received: `sessions` leaves
it out of what is expected. Lookups that it began or should have received are judged here. What others missed,
because the peer forwarded nothing, counts: a system has to bear crashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]


@dataclass(frozen=True, slots=True)
class Absence:
    """The absence of peers of one host that were away together. Times are seconds of trial time."""

    host: str
    peers: int
    from_s: float
    until_s: float
    back: int
    """The number of these peers that joined again."""


def listed(tables: Tables) -> dict[str, list[Absence]]:
    """Return the absences of each trial by time; the peers of a host share one."""
    rows = (
        tables["absences"]
        .groupBy("trial", "host", F.round("from_s", 3).alias("from_s"))
        .agg(
            F.count_distinct("peer").alias("peers"),
            F.round(F.max("until_s"), 3).alias("until_s"),
            F.count_if("back").alias("back"),
        )
        .orderBy("trial", "from_s", "host")
        .collect()
    )
    found: dict[str, list[Absence]] = {}
    for row in rows:
        absence = Absence(row.host, row.peers, row.from_s, row.until_s, row.back)
        found.setdefault(row.trial, []).append(absence)
    return found


def absences(tables: Tables) -> DataFrame:
    """Return the rows of the table `absences`: from a host's last record until its peers joined again, or
    were to leave."""
    again_s = F.lead("start_s").over(Window.partitionBy("trial", "peer", "session").orderBy("start_s"))
    planned_s = F.least("planned_end_s", "trial_end_s")
    return (
        tables["sessions"]
        .where("start_s is not null")
        .withColumn("again_s", again_s)
        .where("ended = 'host lost'")
        .join(tables["trials"].select("trial", "trial_end_s"), "trial")
        .select(
            *("trial", "host", "peer", "session"),
            F.col("end_s").alias("from_s"),
            F.coalesce("again_s", planned_s).alias("until_s"),
            F.col("again_s").isNotNull().alias("back"),
        )
    )
