"""Operations as they began.

The table `operations` also has the messages that each of them caused, for which all hops are read and grouped
by their traces. Tables that are made on demand have a table without these sums, for those that need no more.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

ROOTS = "roots"
"""The name of the table without sums, which is kept nowhere."""


def begun(tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the operations, with or without the columns `messages`, `bytes`, `depth` and `last_s`."""
    return tables[ROOTS if ROOTS in tables else "operations"]
