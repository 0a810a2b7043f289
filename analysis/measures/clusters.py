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


def count_clusters(links: pa.Table) -> pa.Table:
    """Clusters of each topic, from rows trial, topic, peer, neighbour of one trial.

    A link counts in both directions; a peer alone links to itself.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    topic, peer, neighbour = (links[c].to_numpy().astype(np.int64) for c in ("topic", "peer", "neighbour"))
    ends = np.concatenate([topic << 32 | peer, topic << 32 | neighbour])
    members, index = np.unique(ends, return_inverse=True)
    pairs = (index[: len(peer)], index[len(peer) :])
    graph = coo_array((np.ones(len(peer), np.int8), pairs), shape=(len(members), len(members)))
    _, cluster_of_member = connected_components(graph, directed=False)
    _, first, sizes = np.unique(cluster_of_member, return_index=True, return_counts=True)
    topics, topic_of_cluster = np.unique(members[first] >> 32, return_inverse=True)
    largest = np.zeros(len(topics), np.int64)
    np.maximum.at(largest, topic_of_cluster, sizes)
    columns = [
        topics,
        np.bincount(topic_of_cluster, sizes).astype(np.int64),
        np.bincount(topic_of_cluster),
        largest,
    ]
    trial = pa.repeat(links["trial"][0], len(topics))
    return pa.table([trial, *map(pa.array, columns)], CLUSTERS.names).cast(CLUSTERS)
