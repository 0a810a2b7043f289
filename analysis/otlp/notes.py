"""Notes beside the rows of a file: what could not be read of it, and how many rows there were."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

Tally = Counter[tuple[str, int]]
"""The number of spans or data points by host and start."""
LOSS = pa.struct(
    [("file", pa.string()), ("offset", pa.int64()), ("lost_bytes", pa.int64()), ("reason", pa.string())]
)
TALLY = pa.struct(
    [("file", pa.string()), ("host", pa.string()), ("start", pa.int64()), ("found", pa.int64())]
)


def has_rows(batch: pa.RecordBatch) -> bool:
    """Return whether a batch holds spans or points, and does not tell of such."""
    return bool(batch["loss"].null_count == batch["tally"].null_count == batch.num_rows)


def loss_batch(
    schema: pa.Schema, trial: str, file: str, offset: int, lost_bytes: int, reason: str
) -> pa.RecordBatch:
    """Return a batch that holds no span or point, but tells of some that could not be read."""
    loss = {"file": file, "offset": offset, "lost_bytes": lost_bytes, "reason": reason}
    return pa.RecordBatch.from_pylist([{"trial": trial, "loss": loss}], schema=schema)


def tally_batch(schema: pa.Schema, trial: str, file: str, found: Tally) -> pa.RecordBatch:
    """Return a batch that holds no span or point, but tells how many were read, by host and start."""
    rows = [
        {"trial": trial, "tally": {"file": file, "host": host, "start": start, "found": count}}
        for (host, start), count in sorted(found.items())
    ]
    return pa.RecordBatch.from_pylist(rows, schema=schema)
