"""Clusters of a topic: connected components of the links among its subscribers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.contract.measures import Tables
from analysis.engine.one_partition import gathered, is_for_little

_TOPIC_GROUPS = 8
"""The number of groups that a trial's topics are split into where tasks run side by side: each group gets all
links."""

CLUSTERS = pa.schema(
    [
        ("trial", pa.string()),
        ("topic", pa.int32()),
        ("subscribers", pa.int32()),
        ("clusters", pa.int32()),
        ("largest", pa.int32()),
    ]
)


def clusters(tables: Tables) -> DataFrame:
    """Return the rows of the table `clusters`: connected components of each topic's subscribers.

    A link counts in both directions.
    """
    groups = 1 if is_for_little(tables["links"].sparkSession) else _TOPIC_GROUPS
    up = (
        gathered(tables["sessions"].join(tables["trials"], "trial"))
        .where("start_s <= measure_end_s and end_s > measure_end_s")
        .select("trial", "peer")
    )
    members = (
        gathered(tables["subscriptions"].join(tables["trials"], "trial"))
        .where("topic is not null and start_s <= measure_end_s and end_s > measure_end_s")
        .join(up, ["trial", "peer"])
        .select("trial", "topic", "peer", (F.col("topic") % groups).alias("topics"))
    )
    every = F.explode(F.sequence(F.lit(0), F.lit(groups - 1)))
    links = (
        tables["links"].where("moment = 'end'").select("trial", "peer", "neighbour", every.alias("topics"))
    )
    keys = ["trial", "topics"]
    return (
        gathered(members)
        .groupBy(*keys)
        .cogroup(links.groupBy(*keys))
        .applyInArrow(count_clusters, from_arrow_schema(CLUSTERS))
    )


def count_clusters(members: pa.Table, links: pa.Table) -> pa.Table:
    """Return the clusters of some topics of one trial.

    `members` has trial, topic and peer of each subscriber, `links` peer and neighbour of each link; rows of
    either may be repeated. A link counts in both directions.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not members.num_rows:
        return CLUSTERS.empty_table()
    topic_of, subscriber = (members[c].to_numpy() for c in ("topic", "peer"))
    ends = [links[c].to_numpy() for c in ("peer", "neighbour")]
    peers = 1 + max(int(column.max(initial=0)) for column in (subscriber, *ends))
    linked = coo_array((np.ones(links.num_rows, np.bool_), ends), shape=(peers, peers)).tocsr()
    rows = []
    for topic in np.unique(topic_of):
        subscribers = np.unique(subscriber[topic_of == topic])
        _, cluster = connected_components(linked[subscribers][:, subscribers], directed=False)
        sizes = np.bincount(cluster)
        rows.append((topic, len(subscribers), len(sizes), sizes.max()))
    trial = pa.repeat(members["trial"][0], len(rows))
    return pa.table([trial, *map(pa.array, np.array(rows).T)], CLUSTERS.names).cast(CLUSTERS)
