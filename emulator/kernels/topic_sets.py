"""The plain twin of `topic_sets.c`, which has the rule: the topics that are in any of some sets."""

from __future__ import annotations

from librt.vecs import vec
from mypy_extensions import i32, i64


def unite(sets: vec[vec[i32]], rows: vec[i64], begin: int, end: int) -> vec[i32]:
    """Return the topics of the sets at these rows, ascending."""
    if not 0 <= begin <= end <= len(rows):
        raise ValueError(f"there are no rows from {begin} to {end}")
    return vec[i32](sorted({topic for row in rows[i64(begin) : i64(end)] for topic in sets[row]}))
