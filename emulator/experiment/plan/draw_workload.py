"""Draws what peers are asked for, as the kind of workload of a trial says, and checks what it drew."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from emulator.churn.sessions import Sessions
from emulator.contract.random_streams import generator, stream
from emulator.contract.registry import WORKLOADS
from emulator.contract.workload import PlanTable, WorkloadKind
from emulator.experiment.file.spec import Phases, TrialSpec
from emulator.files.input_facts import Facts
from emulator.files.trace_error import TraceError
from emulator.network.build_network import build_network
from emulator.workload.participants import Participants
from emulator.workload.presence import Presence
from emulator.workload.size import MOST_ROWS
from emulator.workload.spec import WorkloadSpec

_OWN_TABLES = ("peers", "sessions")
_LOOKED_AT = 100
"""The number of operations, and of holdings, that are encoded and decoded to see whether they can travel to a
host."""


class TrialDrawing:
    """The trial as its kind of workload sees it."""

    def __init__(
        self,
        spec: TrialSpec,
        location: NDArray[np.int32],
        region: NDArray[np.str_],
        sessions: Sessions,
        participants: Participants,
        tell: Callable[[Facts], None],
    ) -> None:
        self.peers = spec.peers
        self.phases: Phases = spec.phases
        self.workload: WorkloadSpec = spec.workload
        self.sessions = sessions
        self.participants = participants
        self.tell = tell
        self._spec = spec
        self._location = location
        self._region = region
        kind = spec.workload.kind.name
        # Streams of packages' kinds have the kinds' names in theirs, so that no other stream is the same.
        self._names = ("plan", f"workload {kind}") if WORKLOADS.package_of(kind) else ("plan",)

    @cached_property
    def one_way(self) -> Callable[[int, int], float]:
        """The one-way delay (s) between two peers."""
        return build_network(self._spec.network, self._location.tolist(), self._spec.seed).one_way

    @cached_property
    def _presence(self) -> Presence:
        return Presence(self.sessions, self.peers)

    def random(self, name: str) -> np.random.Generator:
        """Return the kind's stream of this name for arrays."""
        return generator(self._spec.seed, *self._names, name)

    def stream(self, name: str) -> Random:
        """Return the kind's stream of this name for scalar draws."""
        return stream(self._spec.seed, *self._names, name)

    def among(self, regions: Sequence[str] | None) -> NDArray[np.bool_] | None:
        """Return which peers are in these regions; None for None, which stands for all."""
        return None if regions is None else np.isin(self._region, list(regions))

    def somebody_up(self, at: float, random: np.random.Generator, what: str) -> int:
        """Return a random peer that is up then."""
        return self._presence.draw(at, random, what)


def draw_workload(
    spec: TrialSpec,
    location: NDArray[np.int32],
    region: NDArray[np.str_],
    sessions: Sessions,
    participants: Participants,
    tell: Callable[[Facts], None],
) -> dict[str, pa.Table]:
    """Return the tables of the plan that say what peers are asked for; `tell` is given what is told of files.

    Raises ValueError for what cannot be drawn or what a package draws wrongly, TraceError for a bad file.
    """
    workload = spec.workload
    kind = workload.kind
    parameters = getattr(workload, kind.key)
    trial = TrialDrawing(spec, location, region, sessions, participants, tell)
    package = WORKLOADS.package_of(kind.name)
    if not package:
        drawn = kind.draw(parameters, trial)
        return {name: _table(table, drawn[name]) for name, table in kind.tables().items()}
    here = f'the package {package}: its workload "{kind.name}"'
    try:
        tables, drawn = kind.tables(), kind.draw(parameters, trial)
    except (ValueError, TraceError):
        raise
    except (Exception, SystemExit) as error:
        raise ValueError(f"{here} cannot be drawn: {_told(error)}") from error
    if not isinstance(drawn, Mapping) or not all(isinstance(each, Mapping) for each in drawn.values()):
        raise ValueError(f"{here} cannot be drawn: draw returned no columns by name for each table's name")
    for name, problem in _names_taken(kind, tables).items():
        raise ValueError(f"{here} has a table called {name}, {problem}")
    if drawn.keys() != tables.keys():
        wanted, found = ", ".join(sorted(tables)) or "none", ", ".join(sorted(drawn)) or "none"
        raise ValueError(f"{here} has the tables {wanted}, but drew {found}")
    made = {
        name: _checked(f"{here}, table {name},", table, drawn[name], spec) for name, table in tables.items()
    }
    try:
        problem = _script_problem(kind, made, spec.phases.end)
    except Exception as error:
        raise ValueError(f"{here} makes no operations of its rows: {_told(error)}") from error
    if problem:
        raise ValueError(f"{here} {problem}")
    return made


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _script_problem(kind: WorkloadKind, made: Mapping[str, pa.Table], end: float) -> str:
    """Return what is wrong with the operations that these tables stand for, or an empty text."""
    rows = {name: table.to_pylist() for name, table in made.items()}
    operations, held = list(kind.asked(rows)), list(kind.held(rows))
    if len(operations) != (number := sum(made[name].num_rows for name, t in kind.tables().items() if t.asks)):
        return f"asks for {len(operations)} operations, but its tables that ask have {number} rows"
    if any(not 0 <= asked.at <= end for asked in operations):
        return f"asks for an operation at a time that is not from 0 to {end:g} s"
    if any(not 0 <= each.start <= each.end for each in held):
        return "has something held that ends before it starts, or starts below 0"
    if len({each.what.number for each in held}) < len(held):
        return "has two things held with the same number"
    whats = [*(asked.operation for asked in operations), *(each.what for each in held)]
    known = {*kind.operations, *([kind.holding] if kind.holding else [])}
    for what in whats:
        if type(what) not in known:
            return f"asks for {type(what).__name__}, which is not among its operations or what it holds"
    for what in whats[:_LOOKED_AT]:
        if type(what).decode(json.loads(json.dumps(what.encode()))) != what:
            return f"has {what!r}, which is not the same once it was encoded and decoded"
    return ""


def _names_taken(kind: WorkloadKind, tables: Mapping[str, PlanTable]) -> dict[str, str]:
    """Return what is wrong with tables of a package that have the name of another one.

    A package may fill in a table of Trellis' own kinds: rows of `publications` are events to the analysis.
    """
    own = [WORKLOADS[name] for name in WORKLOADS if not WORKLOADS.package_of(name)]
    others = {name: t.schema for other in own if other is not kind for name, t in other.tables().items()}
    found = {name: "as each plan has one. Rename it" for name in _OWN_TABLES if name in tables}
    for name, schema in others.items():
        if name in tables and tables[name].schema != schema:
            found[name] = "as another one has. Rename it, or give it the same columns"
    return found


def _table(table: PlanTable, columns: Mapping[str, Any]) -> pa.Table:
    schema = table.schema
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def _checked(here: str, table: PlanTable, columns: Mapping[str, Any], spec: TrialSpec) -> pa.Table:
    """Return the table that a package drew. Raises ValueError, beginning with `here`, for what no plan can
    have."""
    names = table.schema.names
    if sorted(columns) != sorted(names):
        raise ValueError(f"{here} has the columns {', '.join(names)}, but drew {', '.join(columns)}")
    try:
        made = _table(table, columns)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ValueError(f"{here} does not fit its schema: {' '.join(str(error).split())}") from None
    if made.num_rows > MOST_ROWS:
        raise ValueError(
            f"{here} has {made.num_rows:,} rows, more than the {MOST_ROWS:,} that a plan may have"
        )
    if table.peer not in names:
        raise ValueError(f'{here} has no column "{table.peer}" that says whose a row is')
    if made.num_rows:
        bounds = pc.min_max(made[table.peer]).as_py()
        if made[table.peer].null_count or bounds["min"] < 0 or bounds["max"] >= spec.peers:
            raise ValueError(f"{here} has a row whose {table.peer} is not from 0 to {spec.peers - 1}")
    return made
