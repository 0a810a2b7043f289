"""The clusters of topics, counted by hand."""

from __future__ import annotations

import pyarrow as pa

from analysis.measures.clusters import count_clusters


def test_clusters_are_components_of_each_topic() -> None:
    members = [(7, 1), (7, 2), (7, 3), (8, 1), (8, 2), (8, 2), (9, 4)]
    topic, peer = zip(*members, strict=True)
    links = pa.table({"peer": [2, 2, 3, 4, 5], "neighbour": [1, 1, 4, 2, 1]})
    found = count_clusters(pa.table({"trial": ["t"] * len(members), "topic": topic, "peer": peer}), links)
    assert found.to_pylist() == [
        {"trial": "t", "topic": 7, "subscribers": 3, "clusters": 2, "largest": 2},
        {"trial": "t", "topic": 8, "subscribers": 2, "clusters": 1, "largest": 2},
        {"trial": "t", "topic": 9, "subscribers": 1, "clusters": 1, "largest": 1},
    ]
