"""Shares of rows, and means that do not depend on their order."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def share_of(counted: Column, of: Column) -> Column:
    """Return which share of the rows that are `of` are `counted`, 0 to 1; null if there are none."""
    return F.try_divide(F.count_if(counted), F.count_if(of))


def mean_ms(column: str) -> Column:
    """Return a mean that does not depend on the order of the rows: of whole nanoseconds."""
    return F.avg(F.round(F.col(column) * 1e6).cast("bigint")) / 1e6
