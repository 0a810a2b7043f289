"""All benchmarks, one after the other: `make bench`."""

from __future__ import annotations

from benchmarks import realtime, spark, virtual

if __name__ == "__main__":
    virtual.main()
    realtime.main()
    spark.main()
