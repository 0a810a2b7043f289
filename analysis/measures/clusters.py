"""Clusters of a topic: connected components of the links among its subscribers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

CLUSTERS = pa.schema(
    [
        ("trial", pa.string()),
        ("topic", pa.int32()),
        ("subscribers", pa.int32()),
        ("clusters", pa.int32()),
        ("largest", pa.int32()),
    ]
)


def count_clusters(members: pa.Table, links: pa.Table) -> pa.Table:
    """Clusters of some topics of one trial.

    `members` has trial, topic and peer of each subscriber, `links` peer and neighbour of each link; either
    may tell something twice. A link counts in both directions.
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
