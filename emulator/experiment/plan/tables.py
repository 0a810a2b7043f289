"""The plan: everything that a trial will do, drawn from the seed before it starts.

Every system and every runtime is given the identical plan. Times are seconds of trial time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.files.damage import DamagedFile
from emulator.files.disk import naming
from emulator.files.reading import open_regular

DIGEST = b"trellis.spec"
"""The key of a table's metadata that holds the digest."""
PEERS = pa.schema(
    [
        ("peer", pa.int32()),
        ("location", pa.int32()),  # row of the latency matrix
        ("role", pa.string()),  # peer, server (with clients), publisher, subscriber, relay
    ]
)
SESSIONS = pa.schema(
    [
        ("peer", pa.int32()),
        ("session", pa.int32()),  # 0, 1, ... for each peer
        ("start_s", pa.float64()),
        ("end_s", pa.float64()),  # the trial's end if the peer stays
        ("graceful", pa.bool_()),  # how it ends; false if it stays
        ("cause", pa.string()),  # "base" or "flash-crowd"
    ]
)
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

_LARGEST = 8 << 30
"""Bytes of a table."""
_SCHEMAS = {
    "peers": PEERS,
    "sessions": SESSIONS,
    "subscriptions": SUBSCRIPTIONS,
    "publications": PUBLICATIONS,
    "lookups": LOOKUPS,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Sorted tables.

    By: peer; peer and session; peer, client, topic and start; time; time. A trial has subscriptions and
    publications, or lookups.
    """

    peers: pa.Table
    sessions: pa.Table
    subscriptions: pa.Table
    publications: pa.Table
    lookups: pa.Table = field(default_factory=LOOKUPS.empty_table)

    def write(self, directory: Path, digest: str = "") -> None:
        """Write each table to a file of its name, such as `peers.parquet`.

        `digest` is of the spec that the plan was drawn from.
        """
        directory.mkdir(parents=True, exist_ok=True)
        for name in self.__slots__:
            path = directory / f"{name}.parquet"
            with naming(path):
                table = getattr(self, name).replace_schema_metadata({DIGEST: digest})
                pq.write_table(table, path.absolute())

    @classmethod
    def read(cls, directory: Path) -> Plan:
        """Raises DamagedFile if a table is missing or is not what it has to be."""
        return cls(*(_read(directory / f"{name}.parquet") for name in cls.__slots__))


def check_plan(directory: Path) -> None:
    """See whether its tables can be read, without reading them. Raises DamagedFile.

    Plans of earlier versions may lack the table of lookups and some columns.
    """
    for name, schema in _SCHEMAS.items():
        path = directory / f"{name}.parquet"
        if name == "lookups" and not path.exists():
            continue
        try:
            open_regular(path, _LARGEST).close()
            found = pq.read_schema(path.absolute())
        except (OSError, pa.ArrowException) as error:
            raise _damaged(path, f"it is no table ({' '.join(str(error).split())[:200]})") from None
        lacking = sorted(set(schema.names) - set(found.names))
        if 2 * len(lacking) > len(schema.names):
            raise _damaged(path, f"it lacks the columns {', '.join(lacking)}")


def _damaged(path: Path, why: str) -> DamagedFile:
    mend = "Remove the trial's folder and resume the run, or get the file back"
    return DamagedFile(f"{path} is damaged: {why}. {mend}")


def _read(path: Path) -> pa.Table:
    try:
        open_regular(path, _LARGEST).close()
        table = pq.read_table(path.absolute(), partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, f"it is no table ({' '.join(str(error).split())[:200]})") from None
    if lacking := sorted(set(_SCHEMAS[path.stem].names) - set(table.schema.names)):
        raise _damaged(path, f"it lacks the columns {', '.join(lacking)}")
    return table
