"""The tables of the plan that belong to Trellis' own kinds of workload."""

from __future__ import annotations

import pyarrow as pa

RANGES = pa.list_(
    pa.struct(
        [
            ("attribute", pa.string()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("values", pa.list_(pa.float64())),  # a set of values from low to high; null for the whole range
        ]
    )
)
VALUES = pa.list_(pa.struct([("attribute", pa.string()), ("value", pa.float64())]))
SUBSCRIPTIONS = pa.schema(
    [
        ("interest", pa.int32()),  # the row's number
        ("peer", pa.int32()),
        ("topic", pa.int32()),  # null for ranges
        ("rate", pa.float64()),  # the topic's publication rate, events/s; null for ranges
        ("ranges", RANGES),  # closed, or sets of values, all of them to be met; null for a topic
        ("start_s", pa.float64()),  # 0 if held from the first join on
        ("end_s", pa.float64()),  # the trial's end if never given up
        ("client", pa.int32()),  # the peer's client that asks, from 0 on; null for the peer itself
    ]
)
PUBLICATIONS = pa.schema(
    [
        ("event", pa.int32()),
        ("at_s", pa.float64()),
        ("publisher", pa.int32()),  # up at that time
        ("topic", pa.int32()),  # null for an event with attributes
        ("attributes", VALUES),  # null for an event on a topic
        ("payload_bytes", pa.int32()),
        ("client", pa.int32()),  # the publisher's client whose event it is; null for the publisher itself
    ]
)
LOOKUPS = pa.schema(
    [
        ("lookup", pa.int32()),
        ("at_s", pa.float64()),
        ("peer", pa.int32()),  # that asks; up at that time
        ("key", pa.binary(16)),
    ]
)
PUTS = pa.schema(
    [
        ("put", pa.int32()),
        ("at_s", pa.float64()),
        ("peer", pa.int32()),  # that puts it; up at that time
        ("value", pa.int32()),  # the number of the value, from 0 on
        ("key", pa.binary(16)),
        ("version", pa.int32()),  # from 1 on
        ("bytes", pa.int32()),
    ]
)
GETS = pa.schema(
    [
        ("get", pa.int32()),
        ("at_s", pa.float64()),
        ("peer", pa.int32()),  # that asks; up at that time
        ("value", pa.int32()),
        ("key", pa.binary(16)),
    ]
)
RETICENT = pa.schema(
    [
        ("reticence", pa.int32()),
        ("peer", pa.int32()),  # that tells only of what it finds out itself
    ]
)
