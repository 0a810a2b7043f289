"""The plan: everything that a trial will do, drawn from the seed before it starts.

Every system and every runtime is given the identical plan. Times are seconds of trial time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.contract.registry import WORKLOADS
from emulator.contract.workload import PlanTable, WorkloadKind
from emulator.files.damage import DamagedFile
from emulator.files.disk import naming
from emulator.files.input_facts import Facts
from emulator.files.reading import open_regular

DIGEST = b"trellis.spec"
"""The key of a table's metadata that holds the digest."""
PEERS = pa.schema(
    [
        ("peer", pa.int32()),
        ("location", pa.int32()),  # row of the latency matrix
        ("role", pa.string()),  # peer, server (with clients), publisher, subscriber, relay
        ("link_class", pa.int32()),  # index into the classes of `network.bandwidth`; 0 if there are none
        ("attacker", pa.bool_()),  # whether it behaves badly, as `attackers` of the spec says
    ]
)
REGION = pa.field("region", pa.string())
"""The column of the peers that follows where the latency knows regions."""
PROCESSING = pa.field("processing_class", pa.int32())
"""The column of the peers that follows where `processing` has classes: the index of the peer's class."""
IDENTIFIER = pa.field("identifier", pa.binary(16))
"""The last column of the peers where attackers choose their identifiers; null for those that do not."""
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
KEPT = pa.field("kept", pa.int32())
"""The column of the sessions that follows where peers crash and keep their state: the index of the fault
after which the peer goes on as it was, so that it does not join; null for a session that begins by a join."""
FAULTS = pa.schema(
    [
        ("fault", pa.int32()),  # its index in `faults` of the spec
        ("name", pa.string()),
        ("peer", pa.int32()),  # a peer that it hits
    ]
)
SECOND = pa.field("second", pa.bool_())
"""The column of the faults that follows where one holds between two groups that are no regions; true for a
peer of the second group."""
_LARGEST = 8 << 30
"""The most bytes of a table."""


def tables_of(kind: WorkloadKind | None = None) -> dict[str, PlanTable]:
    """Return the tables of a plan that say what peers are asked for: those of this kind, after those that
    every plan has, which are empty where the workload is of another kind."""
    found: dict[str, PlanTable] = {}
    for name in WORKLOADS:
        if not WORKLOADS.package_of(name):
            own = WORKLOADS[name].tables()
            found |= {table: about for table, about in own.items() if about.in_every_plan}
    return found if kind is None else found | dict(kind.tables())


class Plan:
    """The sorted tables of a plan.

    `peers` is sorted by peer, `sessions` by peer and session, and the tables of a workload as its kind says,
    most often by time.
    """

    def __init__(
        self, peers: pa.Table, sessions: pa.Table, faults: pa.Table | None = None, **tables: pa.Table
    ) -> None:
        """Keep the tables; there are no faults if `faults` is left out.

        `tables` are those of the kind of workload by name; those of Trellis' own kinds that are left out are
        empty."""
        self.peers = peers
        self.sessions = sessions
        self.faults = FAULTS.empty_table() if faults is None else faults
        empty = {
            name: table.schema.empty_table() for name, table in tables_of().items() if name not in tables
        }
        self.tables: Mapping[str, pa.Table] = tables | empty
        self.inputs: Mapping[str, Facts] = {}
        """The facts about the experiment's inputs, by key; a plan that was read from files has none."""

    def __getattr__(self, name: str) -> pa.Table:
        """Return a table of the kind of workload. Raises AttributeError if the plan has none of that name."""
        try:
            return self.__dict__["tables"][name]
        except KeyError:
            raise AttributeError(f"the plan has no table {name}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and dict(self.all_tables()) == dict(other.all_tables())

    __hash__ = None  # type: ignore[assignment]

    def all_tables(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield each table with its name, in the order in which they are written."""
        yield "peers", self.peers
        yield "sessions", self.sessions
        if self.faults.num_rows:
            yield "faults", self.faults
        yield from self.tables.items()

    def write(self, directory: Path, digest: str = "") -> None:
        """Write each table to a file of its name, such as `peers.parquet`.

        `digest` is of the spec that the plan was drawn from.
        """
        directory.mkdir(parents=True, exist_ok=True)
        for name, table in self.all_tables():
            path = directory / f"{name}.parquet"
            with naming(path):
                pq.write_table(table.replace_schema_metadata({DIGEST: digest}), path.absolute())

    @classmethod
    def read(cls, directory: Path, kind: WorkloadKind | None = None) -> Plan:
        """Return the plan of a trial with this kind of workload, or with any of Trellis' own.

        Raises DamagedFile if a table is missing or is not what it has to be.
        """
        schemas = _schemas(kind)
        if (directory / "faults.parquet").exists():
            schemas["faults"] = FAULTS
        return cls(**{name: _read(directory, name, schema) for name, schema in schemas.items()})


def operations_of(plan: Plan, kind: WorkloadKind) -> int:
    """Return how many operations peers are asked for, whether they are up or not."""
    return sum(plan.tables[name].num_rows for name, table in kind.tables().items() if table.asks)


def check_plan(directory: Path, kind: WorkloadKind | None = None) -> None:
    """Check that the plan's tables can be read, without reading their rows. Raises DamagedFile.

    Plans of earlier versions may lack some tables and some columns.
    """
    tables = tables_of(kind)
    for name, schema in _schemas(kind).items():
        path = directory / f"{name}.parquet"
        if name in tables and not tables[name].since_ever and not path.exists():
            continue
        try:
            open_regular(path, _LARGEST).close()
            found = pq.read_schema(path.absolute())
        except (OSError, pa.ArrowException) as error:
            raise _damaged(path, f"it is no table ({' '.join(str(error).split())[:200]})") from None
        lacking = sorted(set(schema.names) - set(found.names))
        if 2 * len(lacking) > len(schema.names):
            raise _damaged(path, f"it lacks the columns {', '.join(lacking)}")


def _schemas(kind: WorkloadKind | None) -> dict[str, pa.Schema]:
    of_kinds = {name: table.schema for name, table in tables_of(kind).items()}
    return {"peers": PEERS, "sessions": SESSIONS, **of_kinds}


def _damaged(path: Path, why: str) -> DamagedFile:
    mend = "Remove the trial's folder and resume the run, or get the file back"
    return DamagedFile(f"{path} is damaged: {why}. {mend}")


def _read(directory: Path, name: str, schema: pa.Schema) -> pa.Table:
    path = directory / f"{name}.parquet"
    try:
        open_regular(path, _LARGEST).close()
        table = pq.read_table(path.absolute(), partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, f"it is no table ({' '.join(str(error).split())[:200]})") from None
    if lacking := sorted(set(schema.names) - set(table.schema.names)):
        raise _damaged(path, f"it lacks the columns {', '.join(lacking)}")
    return table
